// mul: wrong use, folding of a long grid, and the plain loop's own gradient against finite differences. The cases against the plain
// loop run in kernels/cases_test.cpp.
#include "kernels/mul/mul.h"

#include "base/expect_error.h"
#include "kernels/finite_difference.h"
#include "kernels/folded_cases.h"
#include "kernels/mul/mul_reference.h"
#include "test_device.h"

#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

TEST(Mul, RefusesAVectorThatIsNotOneRow) {
  device::Stream& stream = testing::stream();
  const Mul args{poisoned(stream, 12), poisoned(stream, 3), poisoned(stream, 12), 12, 4};
  EXPECT_ERROR(mul(stream, args), "mul: b has 12 bytes but 4 values");
}

TEST(Mul, RefusesACountThatIsNoWholeRows) {
  device::Stream& stream = testing::stream();
  const Mul args{poisoned(stream, 12), poisoned(stream, 5), poisoned(stream, 12), 12, 5};
  EXPECT_ERROR(mul(stream, args), "mul: 12 values are no rows of 5");
}

TEST(MulBackward, RefusesAMissingOperand) {
  device::Stream& stream = testing::stream();
  const MulBackward args{poisoned(stream, 12), device::Buffer(), poisoned(stream, 12), poisoned(stream, 12), {}, 12};
  EXPECT_ERROR(mul_backward(stream, args), "mul_backward: a is missing");
}

TEST(Mul, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  expect_folded_cases_pass(mul_cases(), 3, {"count 2006", "count 4100"});
  expect_folded_cases_pass(mul_cases(), 9, {"rows 65, columns 257, b one row"});
  expect_folded_cases_pass(mul_backward_cases(), 3, {"count 2006", "count 4100"});
  expect_folded_cases_pass(mul_backward_cases(), 7, {"rows 257, columns 343, b one row"});
}

TEST(MulBackward, GivesZerosWhenThereAreNoRows) {
  device::Stream& stream = testing::stream();
  const device::Buffer none = poisoned(stream, 4).slice(0, 0);
  const MulBackward args{none, none, poisoned(stream, 4), {}, poisoned(stream, 4), 0, 4};
  mul_backward(stream, args);
  EXPECT_EQ(download_values(stream, args.d_b), std::vector<float>(4, 0.0F));
}

TEST(Mul, PlainLoopsGradientMatchesFiniteDifferences) {
  const std::vector<double> a = to_double(test_values(15, 1));
  const std::vector<double> b = to_double(test_values(5, 2));
  const std::vector<double> d_out = to_double(test_values(15, 3));
  const BroadcastGradients gradients = mul_backward_reference(d_out, a, b);
  expect_gradient(a, gradients.d_a, d_out, [&](const std::vector<double>& moved) { return mul_reference(moved, b); });
  expect_gradient(b, gradients.d_b, d_out, [&](const std::vector<double>& moved) { return mul_reference(a, moved); });
}

}  // namespace
}  // namespace athanor::kernels
