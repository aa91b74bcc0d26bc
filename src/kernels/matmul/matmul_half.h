// f16 on the host, in integer code: the CPU device's products widen f16 operands by blocks, and the cases make them.
#pragma once

#include "device/cpu/simd.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace athanor::kernels {

/// The value of a half, exactly: subnormals and infinity too; NaN stays NaN. Without branches, so that loops over it vectorise.
ATHANOR_INLINE float half_to_float(uint16_t half) {
  const uint32_t magnitude = half & 0x7fffU;
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
  // A multiplication puts the exponent right and makes subnormals normal.
  const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
  const uint32_t endless = magnitude >= 0x7c00U ? 0x7f800000U : 0U;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | endless | sign);
}

/// To the nearest half, ties to even; overflow gives infinity, subnormals are kept, NaN stays NaN.
inline uint16_t float_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<uint16_t>(sign | 0x7e00U);
  if (magnitude >= 0x47800000U) return static_cast<uint16_t>(sign | 0x7c00U);  // 2^16 and more
  if (magnitude < 0x38800000U) {  // below 2^-14: a number of units of 2^-24
    const float units = std::nearbyint(std::bit_cast<float>(magnitude) * 0x1p24F);
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(units));
  }
  const uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

}  // namespace athanor::kernels
