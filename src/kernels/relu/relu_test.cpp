// relu: wrong use, the slope at zero, folding of a long grid, and the plain loop's own gradient against finite differences. The cases
// against the plain loop run in kernels/cases_test.cpp.
#include "kernels/relu/relu.h"

#include "base/expect_error.h"
#include "kernels/finite_difference.h"
#include "kernels/folded_cases.h"
#include "kernels/relu/relu_reference.h"
#include "test_device.h"

#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

TEST(Relu, RefusesAResultOfAnotherSize) {
  device::Stream& stream = testing::stream();
  const Relu args{poisoned(stream, 8), poisoned(stream, 7), 8};
  EXPECT_ERROR(relu(stream, args), "relu: out has 28 bytes but 8 values");
}

TEST(ReluBackward, RefusesAMissingGradient) {
  device::Stream& stream = testing::stream();
  const ReluBackward args{poisoned(stream, 8), poisoned(stream, 8), device::Buffer(), 8};
  EXPECT_ERROR(relu_backward(stream, args), "relu_backward: d_x is missing");
}

TEST(Relu, HasSlopeZeroAtZero) {
  device::Stream& stream = testing::stream();
  const device::Buffer x = upload_values(stream, std::vector<float>{-1e4F, -1, -0.0F, 0, 1e-20F, 1, 1e4F, 2});
  const Relu forward{x, poisoned(stream, 8), 8};
  relu(stream, forward);
  EXPECT_EQ(download_values(stream, forward.out), (std::vector<float>{0, 0, 0, 0, 1e-20F, 1, 1e4F, 2}));
  const ReluBackward backward{upload_values(stream, std::vector<float>(8, 3.0F)), x, poisoned(stream, 8), 8};
  relu_backward(stream, backward);
  EXPECT_EQ(download_values(stream, backward.d_x), (std::vector<float>{0, 0, 0, 0, 3, 3, 3, 3}));
}

TEST(Relu, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  for (const std::vector<KernelCase>& cases : {relu_cases(), relu_backward_cases()}) {
    expect_folded_cases_pass(cases, 3, {"count 2006, values of 3", "count 4100, values of 3"});
  }
}

TEST(Relu, PlainLoopsGradientMatchesFiniteDifferences) {
  const std::vector<double> x = to_double(test_values(9, 1, 2.0F));
  const std::vector<double> d_out = to_double(test_values(9, 3));
  expect_gradient(x, relu_backward_reference(d_out, x), d_out, relu_reference);
}

}  // namespace
}  // namespace athanor::kernels
