// What the rounded products lose, at operands of every size, and what unscaled f16 would do.
#include "kernels/matmul/matmul_precision_reference.h"

#include "kernels/compare.h"
#include "kernels/matmul/matmul_reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace athanor::kernels {
namespace {

constexpr int64_t kM = 33;
constexpr int64_t kN = 29;
constexpr int64_t kK = 257;

/// Largest error over the largest value of a product of normal operands, X times x_scale and W times w_scale.
double error_of(float x_scale, float w_scale, MatMulPrecision precision, Scaling scaling = Scaling::PowerOfTwo) {
  const std::vector<float> x = test_values(kM * kK, 1, x_scale);
  const std::vector<float> w = test_values(kK * kN, 2, w_scale);
  const std::vector<double> want = matmul_reference(to_double(x), to_double(w), kM, kN, kK);
  CaseResult result;
  compare(result, "y", matmul_precision_reference(x, w, kM, kN, kK, precision, scaling), want, 1);
  return result.largest_error;
}

TEST(MatMulPrecision, HighAndMediumKeepTheirErrorAtEveryScaleOfTheOperands) {
  for (const float x_scale : {1e-8F, 1.0F, 1e5F}) {
    for (const float w_scale : {1e-8F, 1.0F, 1e5F}) {
      const double high = error_of(x_scale, w_scale, MatMulPrecision::High);
      const double medium = error_of(x_scale, w_scale, MatMulPrecision::Medium);
      EXPECT_LE(high, 2e-5) << x_scale << " " << w_scale;
      EXPECT_LE(medium, 1e-3) << x_scale << " " << w_scale;
      EXPECT_GT(medium, 1e-5) << "medium rounds to f16";
      EXPECT_LT(high, medium / 10) << "high has a second f16";
    }
  }
}

TEST(MatMulPrecision, HighestIsF32) { EXPECT_LE(error_of(1e-8F, 1, MatMulPrecision::Highest), allowed_f32(kK)); }

TEST(MatMulPrecision, UnscaledHalvesLoseSmallOperandsAndOverflowWithLargeOnes) {
  for (const MatMulPrecision precision : {MatMulPrecision::High, MatMulPrecision::Medium}) {
    EXPECT_LE(error_of(1, 1, precision, Scaling::None), 1e-3);
    EXPECT_GT(error_of(1e-8F, 1, precision, Scaling::None), 0.5);
    EXPECT_EQ(error_of(1, 1e5F, precision, Scaling::None), std::numeric_limits<double>::infinity());
  }
}

// The gradient of a large vocabulary's logits: a few values near 1, the rest near 1e-6.
TEST(MatMulPrecision, SmallValuesBesideLargeOnesAreNotLost) {
  std::vector<float> x = test_values(kM * kK, 1, 1e-6F);
  for (int64_t row = 0; row < kM; row += 2) x[row * kK] = 1.0F;
  const std::vector<float> w = test_values(kK * kN, 2);
  const std::vector<double> want = matmul_reference(to_double(x), to_double(w), kM, kN, kK);
  const std::vector<float> high = matmul_precision_reference(x, w, kM, kN, kK, MatMulPrecision::High);
  const std::span<const float> small_row = std::span(high).subspan(kN, kN);
  CaseResult result;
  compare(result, "a row without a large value", small_row,
          std::vector<double>(want.begin() + kN, want.begin() + 2 * kN), 2e-5);
  EXPECT_TRUE(result.passed()) << result.where;
}

TEST(MatMulPrecision, ScalePutsTheLargestMagnitudeNearTwoToThe14) {
  const std::vector<std::pair<std::vector<float>, float>> cases = {
      {{1.0F, -0.5F}, 0x1p14F},
      {{0.0F, -1.999F}, 0x1p14F},
      {{2.0F}, 0x1p13F},
      {{65504.0F}, 0x1p-1F},
      {{-1e30F}, 0x1p-85F},
      {{1e-8F}, 0x1p41F},
      {{1e-37F}, 0x1p126F},
      {{0.0F}, 1.0F},
      {{0x1p-130F}, 1.0F},
      {{1.0F, std::numeric_limits<float>::infinity()}, 1.0F},
      {{std::numeric_limits<float>::quiet_NaN()}, 1.0F}};
  for (const auto& [values, scale] : cases) EXPECT_EQ(magnitude_scale(values), scale) << values.back();
}

}  // namespace
}  // namespace athanor::kernels
