// f16 as bits, in integers alone; the same arithmetic as round_to_half.wgsl and widen_half.wgsl, so that both devices give the same
// bits. Without branches: loops over them vectorise.
#pragma once

#include "device/cpu/simd.h"

#include <cstdint>

namespace athanor::kernels {

/// The bits of the f16 nearest to the f32 with these bits, to even on a tie. Subnormals are kept, beyond 65,519.99 lies infinity, and a
/// NaN stays one with its upper ten bits.
ATHANOR_INLINE uint32_t half_bits(uint32_t bits) {
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t magnitude = bits & 0x7fffffffU;
  const uint32_t rounded = (magnitude + 0xfffU + ((magnitude >> 13) & 1U) - 0x38000000U) >> 13;
  const uint32_t normal = rounded < 0x7c00U ? rounded : 0x7c00U;
  const uint32_t exponent = magnitude >> 23;
  const uint32_t up_to_126 = exponent < 126U ? exponent : 126U;
  const uint32_t shift = 126U - up_to_126 < 25U ? 126U - up_to_126 : 25U;
  const uint32_t mantissa = (magnitude & 0x7fffffU) | 0x800000U;
  const uint32_t subnormal = (mantissa + ((1U << shift) >> 1) - 1U + ((mantissa >> shift) & 1U)) >> shift;
  const uint32_t payload = (magnitude >> 13) & 0x3ffU;
  const uint32_t nan = 0x7c00U | (payload == 0 ? 0x200U : payload);
  const uint32_t finite = magnitude >= 0x38800000U ? normal : subnormal;
  return sign | (magnitude > 0x7f800000U ? nan : finite);
}

/// The bits of the f32 that equals the f16 with these bits; a NaN keeps its own.
ATHANOR_INLINE uint32_t float_bits_of_half(uint32_t half) {
  const uint32_t sign = (half & 0x8000U) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fU;
  const uint32_t mantissa = half & 0x3ffU;
  const uint32_t normal = ((exponent + 112U) << 23) | (mantissa << 13);
  const uint32_t not_finite = 0x7f800000U | (mantissa << 13);
  // Exact: the mantissa has ten bits and the result is a normal f32.
  const uint32_t subnormal = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(mantissa)) * 0x1p-24F);
  const uint32_t finite = exponent == 0 ? subnormal : normal;
  return sign | (exponent == 31U ? not_finite : finite);
}

}  // namespace athanor::kernels
