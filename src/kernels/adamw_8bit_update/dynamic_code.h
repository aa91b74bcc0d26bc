// The 8-bit code of the moments on the host: the 256 values of the published table, and the nearest code to a value by the arithmetic
// of dynamic_code.wgsl, without branches so that loops over it vectorise.
#pragma once

#include "device/cpu/simd.h"

#include <array>
#include <cstdint>

namespace athanor::kernels {

/// In rising order, f32: seven decades below 1, each cut into equal cells, twice as many as the decade below; a code stands for the
/// middle of its cell; zero and one. Source: Dettmers et al. 2022, arXiv:2110.02861.
std::array<float, 256> m_code_values();  // from -0.993 to 1; 127 is zero
std::array<float, 256> v_code_values();  // from 0 to 1

inline constexpr int kZeroOfM = 127;

/// The number of the cell nearest to x in [0, 1), in a code whose highest decade has `cells` cells: 2^e to 2^(e+1) - 1 where there are
/// 2^e; below 1 (m) or 2 (v) for zero.
ATHANOR_INLINE float nearest_cell(float x, float cells) {
  const bool below4 = x < 1e-4F;
  const float scaled4 = below4 ? x * 1e4F : x;
  const float n4 = below4 ? cells * 0.0625F : cells;
  const bool below2 = scaled4 < 1e-2F;
  const float scaled2 = below2 ? scaled4 * 1e2F : scaled4;
  const float n2 = below2 ? n4 * 0.25F : n4;
  const bool below1 = scaled2 < 1e-1F;
  const float scaled = below1 ? scaled2 * 1e1F : scaled2;
  const float n = below1 ? n2 * 0.5F : n2;
  // A fifth of the decade's first cell is nearer to the middle of the last cell of the decade below.
  const float place = (scaled - 0.1F) * (n / 0.9F);
  const float t = place < 0.2F ? n - 1.0F : n + std::floor(place);
  const float last = 2.0F * n - 1.0F;
  return t < last ? t : last;
}

/// The code of m / largest, from -1 to 1.
ATHANOR_INLINE int32_t encoded_m(float x) {
  const float size = std::abs(x);
  const float cell = nearest_cell(size, 64.0F);
  const float least = size >= 2.75e-7F ? 1.0F : 0.0F;  // half of the lowest value and more is nearer to it than to zero
  const auto inner = static_cast<int32_t>(cell > least ? cell : least);
  const int32_t t = size >= 1.0F - 0.225F / 64.0F ? 128 : inner;
  return x < 0 ? kZeroOfM - (t < 127 ? t : 127) : kZeroOfM + t;
}

/// The code of v / largest, from 0 to 1. What is above zero stays so, since the step divides by the root.
ATHANOR_INLINE int32_t encoded_v(float x) {
  const float cell = nearest_cell(x, 128.0F);
  const auto inner = static_cast<int32_t>(cell > 2 ? cell : 2.0F);
  const int32_t t = x >= 1.0F - 0.225F / 128.0F ? 256 : inner;
  return x <= 0 ? 0 : t - 1;
}

}  // namespace athanor::kernels
