// Vectorised maths for the CPU kernels: plain loops that the compiler vectorises, cloned for AVX2 and AVX-512 at run time.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

// Put before a function with hot loops. The sanitizers' run time is not ready when clones are resolved.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define ATHANOR_SIMD_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ATHANOR_SIMD_CLONES
#endif
#define ATHANOR_INLINE inline __attribute__((always_inline))

namespace athanor::device::cpu {

/// e^x to about 2 units in the last place on [-87, 88], without branches so that loops over it vectorise; saturates outside
/// (0 below -87.3, e^88.37 above), NaN stays NaN. Polynomial of degree 6 on [-ln2/2, ln2/2] (minimax fit of our own).
ATHANOR_INLINE float exp_fast(float x) {
  const float clamped = x < -87.3F ? -87.3F : (x > 88.37F ? 88.37F : x);  // NaN passes through
  const float n = std::nearbyint(clamped * 1.44269504F);
  float r = clamped - n * 0.693359375F;  // ln 2 in two parts: the first is exact in few bits
  r = r - n * -2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  const float scale = std::bit_cast<float>((static_cast<int32_t>(n) + 127) << 23);
  return x < -87.3F ? 0.0F : p * scale;
}

ATHANOR_INLINE float sigmoid_fast(float x) { return 1.0F / (1.0F + exp_fast(-x)); }
ATHANOR_INLINE float silu_fast(float x) { return x * sigmoid_fast(x); }

}  // namespace athanor::device::cpu
