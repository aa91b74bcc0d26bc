// Softmax of rows, and its gradient.
#pragma once

#include "device/device.h"

namespace athanor::kernels {

inline constexpr float kMaskedValue = -3e38F;  // stands for minus infinity, which a shader compiler may assume away

struct Softmax {
  device::Buffer x;    // (rows, C) f32; values at or below kMaskedValue / 2 are masked
  device::Buffer out;  // (rows, C), written; on WebGPU not x
  int64_t rows = 0;
  int64_t columns = 0;  // C
};

/// out = e^x / sum of e^x over the row, taken from the row's maximum so that 1e4 is fine. A masked value gives 0, a row in which all are
/// masked gives zeros. Throws Error if a buffer's size is not as in Softmax.
void softmax(device::Stream& stream, const Softmax& args);

struct SoftmaxBackward {
  device::Buffer d_out;  // (rows, C)
  device::Buffer out;    // (rows, C): as the forward wrote it
  device::Buffer d_x;    // (rows, C), written; on WebGPU neither d_out nor out
  int64_t rows = 0;
  int64_t columns = 0;
};

/// d_x = out * (d_out - sum of d_out * out over the row); 0 where x was masked.
void softmax_backward(device::Stream& stream, const SoftmaxBackward& args);

}  // namespace athanor::kernels
