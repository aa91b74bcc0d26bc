// silu: wrong use, saturation, folding of a long grid, and the plain loop's own gradient against finite differences. The cases against
// the plain loop run in kernels/cases_test.cpp.
#include "kernels/silu/silu.h"

#include "base/expect_error.h"
#include "kernels/finite_difference.h"
#include "kernels/folded_cases.h"
#include "kernels/silu/silu_reference.h"
#include "test_device.h"

#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

TEST(Silu, RefusesAResultOfAnotherSize) {
  device::Stream& stream = testing::stream();
  const Silu args{poisoned(stream, 8), poisoned(stream, 7), 8};
  EXPECT_ERROR(silu(stream, args), "silu: out has 28 bytes but 8 values");
}

TEST(SiluBackward, RefusesAMissingGradient) {
  device::Stream& stream = testing::stream();
  const SiluBackward args{poisoned(stream, 8), poisoned(stream, 8), device::Buffer(), 8};
  EXPECT_ERROR(silu_backward(stream, args), "silu_backward: d_x is missing");
}

TEST(Silu, SaturatesForLargeValues) {
  device::Stream& stream = testing::stream();
  const std::vector<float> x = {-1e4F, -1e3F, -100, 100, 1e3F, 1e4F, 0, 1};
  const Silu forward{upload_values(stream, x), poisoned(stream, 8), 8};
  silu(stream, forward);
  const std::vector<float> out = download_values(stream, forward.out);
  const SiluBackward backward{upload_values(stream, std::vector<float>(8, 1.0F)), forward.x, poisoned(stream, 8), 8};
  silu_backward(stream, backward);
  const std::vector<float> d_x = download_values(stream, backward.d_x);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(out[i], 0, 1e-20) << i;
    EXPECT_NEAR(d_x[i], 0, 1e-20) << i;
    EXPECT_FLOAT_EQ(out[i + 3], x[i + 3]);
    EXPECT_FLOAT_EQ(d_x[i + 3], 1);
  }
}

TEST(Silu, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  for (const std::vector<KernelCase>& cases : {silu_cases(), silu_backward_cases()}) {
    expect_folded_cases_pass(cases, 3, {"count 2006, values of 3", "count 4100, values of 3"});
  }
}

TEST(Silu, PlainLoopsGradientMatchesFiniteDifferences) {
  const std::vector<double> x = to_double(test_values(9, 1, 2.0F));
  const std::vector<double> d_out = to_double(test_values(9, 3));
  expect_gradient(x, silu_backward_reference(d_out, x), d_out, silu_reference);
}

}  // namespace
}  // namespace athanor::kernels
