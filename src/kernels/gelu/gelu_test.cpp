// gelu: wrong use, the precision of the erf form over its whole range, saturation, folding of a long grid, and the plain loop's own
// gradient against finite differences. The cases against the plain loop run in kernels/cases_test.cpp.
#include "kernels/gelu/gelu.h"

#include "base/expect_error.h"
#include "kernels/finite_difference.h"
#include "kernels/folded_cases.h"
#include "kernels/gelu/gelu_reference.h"
#include "test_device.h"

#include <gtest/gtest.h>

#include <cmath>

namespace athanor::kernels {
namespace {

const std::vector<GeluForm> kForms = {GeluForm::Erf, GeluForm::Tanh};

TEST(Gelu, RefusesAResultOfAnotherSize) {
  device::Stream& stream = testing::stream();
  const Gelu args{poisoned(stream, 8), poisoned(stream, 7), 8};
  EXPECT_ERROR(gelu(stream, args), "gelu: out has 28 bytes but 8 values");
}

TEST(GeluBackward, RefusesAMissingGradient) {
  device::Stream& stream = testing::stream();
  const GeluBackward args{poisoned(stream, 8), poisoned(stream, 8), device::Buffer(), 8};
  EXPECT_ERROR(gelu_backward(stream, args), "gelu_backward: d_x is missing");
}

// gelu divided by x is the share; of the erf form it is (1 + erf) / 2, so half of an error of erf.
TEST(Gelu, StaysWithinF32RoundingOverTheWholeRange) {
  device::Stream& stream = testing::stream();
  std::vector<float> x;
  for (int i = -3000; i <= 3000; ++i) x.push_back(static_cast<float>(i) / 250.0F);
  const int64_t count = static_cast<int64_t>(x.size());
  for (const GeluForm form : kForms) {
    const Gelu forward{upload_values(stream, x), poisoned(stream, count), count, form};
    gelu(stream, forward);
    const std::vector<float> out = download_values(stream, forward.out);
    const GeluBackward backward{upload_values(stream, std::vector<float>(x.size(), 1.0F)), forward.x,
                                poisoned(stream, count), count, form};
    gelu_backward(stream, backward);
    const std::vector<float> slope = download_values(stream, backward.d_x);
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(out[i], gelu_reference(x[i], form), allowed_f32(1) * std::max(1.0F, std::abs(x[i]))) << x[i];
      EXPECT_NEAR(slope[i], gelu_slope_reference(x[i], form), allowed_f32(1)) << x[i];
    }
  }
}

TEST(Gelu, SaturatesForLargeValues) {
  device::Stream& stream = testing::stream();
  const std::vector<float> x = {-1e4F, -1e3F, -100, 100, 1e3F, 1e4F, 0, 1};
  for (const GeluForm form : kForms) {
    const Gelu forward{upload_values(stream, x), poisoned(stream, 8), 8, form};
    gelu(stream, forward);
    const std::vector<float> out = download_values(stream, forward.out);
    const GeluBackward backward{upload_values(stream, std::vector<float>(8, 1.0F)), forward.x, poisoned(stream, 8), 8,
                                form};
    gelu_backward(stream, backward);
    const std::vector<float> d_x = download_values(stream, backward.d_x);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(out[i], 0, 1e-20) << i;
      EXPECT_NEAR(d_x[i], 0, 1e-20) << i;
      EXPECT_FLOAT_EQ(out[i + 3], x[i + 3]);
      EXPECT_FLOAT_EQ(d_x[i + 3], 1);
    }
  }
}

TEST(Gelu, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  for (const std::vector<KernelCase>& cases : {gelu_cases(), gelu_backward_cases()}) {
    expect_folded_cases_pass(cases, 3, {"erf, count 2006, values of 3", "tanh, count 4100, values of 3"});
  }
}

TEST(Gelu, PlainLoopsGradientMatchesFiniteDifferences) {
  const std::vector<double> x = to_double(test_values(9, 1, 2.0F));
  const std::vector<double> d_out = to_double(test_values(9, 3));
  for (const GeluForm form : kForms) {
    expect_gradient(x, gelu_backward_reference(d_out, x, form), d_out,
                    [&](const std::vector<double>& moved) { return gelu_reference(moved, form); });
  }
}

}  // namespace
}  // namespace athanor::kernels
