// Reductions of short rows for the CPU kernels of attention: sixteen lanes in a vector, folded in halves at the end. GCC 12 ends a
// "#pragma omp simd reduction" with sixteen dependent scalar steps instead, more than a row of 64 itself costs.
#pragma once

#include "device/cpu/simd.h"

#include <cstring>

namespace athanor::kernels {

using Lanes = float __attribute__((vector_size(64)));
inline constexpr int64_t kLanes = 16;

ATHANOR_INLINE Lanes load_lanes(const float* x) {
  Lanes lanes;
  std::memcpy(&lanes, x, sizeof(lanes));
  return lanes;
}

ATHANOR_INLINE float fold_sum(const Lanes& lanes) {
  float values[kLanes];
  std::memcpy(values, &lanes, sizeof(lanes));
  for (int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (int64_t i = 0; i < width; ++i) values[i] += values[i + width];
  }
  return values[0];
}

ATHANOR_INLINE float fold_max(const Lanes& lanes) {
  float values[kLanes];
  std::memcpy(values, &lanes, sizeof(lanes));
  for (int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (int64_t i = 0; i < width; ++i) values[i] = values[i] > values[i + width] ? values[i] : values[i + width];
  }
  return values[0];
}

ATHANOR_INLINE float row_sum(const float* x, int64_t count) {
  Lanes lanes{};
  int64_t c = 0;
  for (; c + kLanes <= count; c += kLanes) lanes += load_lanes(x + c);
  float sum = fold_sum(lanes);
  for (; c < count; ++c) sum += x[c];
  return sum;
}

/// The largest of `least` and the row.
ATHANOR_INLINE float row_max(const float* x, int64_t count, float least) {
  float largest = least;
  int64_t c = 0;
  if (count >= kLanes) {
    Lanes lanes = load_lanes(x);
    for (c = kLanes; c + kLanes <= count; c += kLanes) {
      const Lanes next = load_lanes(x + c);
      lanes = next > lanes ? next : lanes;
    }
    const float folded = fold_max(lanes);
    largest = folded > largest ? folded : largest;
  }
  for (; c < count; ++c) largest = x[c] > largest ? x[c] : largest;
  return largest;
}

ATHANOR_INLINE float row_dot(const float* a, const float* b, int64_t count) {
  Lanes lanes{};
  int64_t c = 0;
  for (; c + kLanes <= count; c += kLanes) lanes += load_lanes(a + c) * load_lanes(b + c);
  float sum = fold_sum(lanes);
  for (; c < count; ++c) sum += a[c] * b[c];
  return sum;
}

}  // namespace athanor::kernels
