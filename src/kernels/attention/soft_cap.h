// A soft cap on scores or logits for the CPU kernels, as soft_cap.wgsl: x becomes cap * tanh(x / cap).
#pragma once

#include "base/error.h"
#include "device/cpu/simd.h"

#include <string_view>

namespace athanor::kernels {

/// tanh to about 2 units in the last place, without branches so that loops over it vectorise; NaN stays NaN. Near 0 an odd polynomial
/// (minimax fit of our own), farther out the exponential.
ATHANOR_INLINE float tanh_fast(float x) {
  const float size = std::fabs(x);
  const float square = size * size;
  float p = -0.00570498F;
  p = p * square + 0.02063908F;
  p = p * square - 0.05373971F;
  p = p * square + 0.13331442F;
  p = p * square - 0.33333282F;
  const float near = size * square * p + size;
  const float far = 1.0F - 2.0F / (device::cpu::exp_fast(size + size) + 1.0F);
  return std::copysign(size < 0.625F ? near : far, x);
}

/// out = cap * tanh(scale * x / cap) for a row; cap > 0. out may be x.
ATHANOR_INLINE void soft_cap_row(const float* x, float* out, int64_t count, float scale, float cap) {
  const float factor = scale / cap;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = cap * tanh_fast(x[i] * factor);
}

/// What the derivative by x needs beside the capped value c: slope = 1 - (c * inverse)^2, exactly 1 without a cap.
inline float inverse_cap(float cap) { return cap > 0 ? 1.0F / cap : 0.0F; }

/// Throws unless the cap is 0 or a positive number.
inline void check_soft_cap(std::string_view kernel, float cap) {
  check(cap >= 0 && std::isfinite(cap) && std::isfinite(inverse_cap(cap)),
        "{}: a soft cap of {}; pass a positive one, or 0 for none", kernel, cap);
}

}  // namespace athanor::kernels
