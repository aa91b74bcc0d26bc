// Casts between f32 and f16, exact where exact is possible, with the same bits on every device.
#pragma once

#include "device/device.h"

namespace athanor::kernels {

/// How many u32 hold `count` halves.
constexpr int64_t half_words(int64_t count) { return (count + 1) / 2; }

struct Fp32ToFp16 {
  device::Buffer values;  // (count) f32
  device::Buffer
      out;  // (half_words(count)) u32, written: two halves each, the first in the low half; after an odd last one 0
  int64_t count = 0;
};

/// out = the f16 nearest to each value, to even on a tie. Subnormals are kept on both sides, a value that rounds beyond 65,504 gives
/// infinity, NaN stays NaN with its upper ten mantissa bits.
/// Throws Error if a buffer's size is not as in Fp32ToFp16.
void fp32_to_fp16(device::Stream& stream, const Fp32ToFp16& args);

struct Fp16ToFp32 {
  device::Buffer halves;  // (half_words(count)) u32, two halves each
  device::Buffer out;     // (count) f32, written
  int64_t count = 0;
};

/// out = the f32 that equals each half. A NaN keeps its bits: cast back, all 65,536 halves are what they were.
/// Throws Error if a buffer's size is not as in Fp16ToFp32.
void fp16_to_fp32(device::Stream& stream, const Fp16ToFp32& args);

}  // namespace athanor::kernels
