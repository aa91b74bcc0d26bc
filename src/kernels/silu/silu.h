// The sigmoid linear unit: each value times its own sigmoid.
#pragma once

#include "device/device.h"

namespace athanor::kernels {

struct Silu {
  device::Buffer x;    // (count) f32
  device::Buffer out;  // (count) f32; not x, which WebGPU refuses
  int64_t count = 0;
};

/// out = x / (1 + e^-x); saturates, so that no finite input gives NaN. Throws Error if a buffer does not hold `count` values.
/// Source: Elfwing, Uchibe and Doya 2017, arXiv:1702.03118.
void silu(device::Stream& stream, const Silu& args);

struct SiluBackward {
  device::Buffer d_out;  // (count)
  device::Buffer x;      // (count)
  device::Buffer d_x;    // (count), written
  int64_t count = 0;
};

/// With s = 1 / (1 + e^-x): d_x = d_out * s * (1 + x * (1 - s)). Throws Error if a buffer does not hold `count` values.
void silu_backward(device::Stream& stream, const SiluBackward& args);

}  // namespace athanor::kernels
