// Rounded products as plain loops.
#include "kernels/matmul/matmul_precision_reference.h"

#include "kernels/matmul/matmul_half.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace athanor::kernels {

namespace {

float rounded(float value) { return half_to_float(float_to_half(value)); }

/// A factor as the matrix units get it: one f16, or two. hi is what the upper 11 bits of the significand say, taken by a mask: written
/// as f32(f16(x)) a compiler may fold the two conversions away, and lo would be zero.
struct Factor {
  float hi = 0;
  float lo = 0;
};

Factor factor_of(float value, MatMulPrecision precision) {
  constexpr uint32_t kUpperBits = 0xFFFFE000U;
  switch (precision) {
    case MatMulPrecision::Highest:
      return {value, 0};
    case MatMulPrecision::Medium:
      return {rounded(value), 0};
    case MatMulPrecision::High:
      break;
  }
  const float upper = std::bit_cast<float>(std::bit_cast<uint32_t>(value) & kUpperBits);
  return {rounded(upper), rounded(value - upper)};
}

std::vector<Factor> factors_of(const std::vector<float>& values, float scale, MatMulPrecision precision) {
  std::vector<Factor> factors;
  factors.reserve(values.size());
  for (const float value : values) factors.push_back(factor_of(value * scale, precision));
  return factors;
}

}  // namespace

float magnitude_scale(std::span<const float> values) {
  constexpr int kTarget = 14;
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  const bool finite = std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
  if (!finite || !std::isnormal(largest)) return 1;
  return std::ldexp(1.0F, std::clamp(kTarget - std::ilogb(largest), -126, 126));
}

std::vector<float> matmul_precision_reference(const std::vector<float>& x, const std::vector<float>& w, int64_t m,
                                              int64_t n, int64_t k, MatMulPrecision precision, Scaling scaling) {
  const bool scales = scaling == Scaling::PowerOfTwo && precision != MatMulPrecision::Highest;
  const float x_scale = scales ? magnitude_scale(x) : 1.0F;
  const float w_scale = scales ? magnitude_scale(w) : 1.0F;
  const std::vector<Factor> left = factors_of(x, x_scale, precision);
  const std::vector<Factor> right = factors_of(w, w_scale, precision);
  std::vector<float> y(static_cast<size_t>(m * n));
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      float sum = 0;
      for (int64_t i = 0; i < k; ++i) {
        const Factor& a = left[row * k + i];
        const Factor& b = right[i * n + column];
        sum += a.hi * b.hi;
        if (precision == MatMulPrecision::High) sum += a.hi * b.lo + a.lo * b.hi;
      }
      // One after the other: their product may be outside f32.
      y[row * n + column] = sum / x_scale / w_scale;
    }
  }
  return y;
}

}  // namespace athanor::kernels
