// Depthwise convolution of width 3 along the last dimension, and its gradient.
#pragma once

#include "device/device.h"
#include "kernels/accumulate.h"

#include <cstdint>

namespace athanor::kernels {

struct Conv1d {
  device::Buffer x;       // (B, D, S) f32
  device::Buffer weight;  // (D, 3)
  device::Buffer bias;    // (D)
  device::Buffer out;     // (B, D, S), written; not x
  int64_t channels = 0;   // D
  int64_t length = 0;     // S
  int64_t batch = 1;      // B
};

/// out[d, s] = bias[d] + sum over k of x[d, s + k - 1] * weight[d, k], with zeros outside the row: every channel has three weights of its own.
/// Throws Error if a buffer's size is not as in Conv1d.
void conv1d(device::Stream& stream, const Conv1d& args);

struct Conv1dBackward {
  device::Buffer d_out;     // (B, D, S)
  device::Buffer x;         // (B, D, S)
  device::Buffer weight;    // (D, 3)
  device::Buffer d_x;       // (B, D, S), written, neither d_out nor x; may be empty when nobody needs it
  device::Buffer d_weight;  // (D, 3), written or added to; may be empty
  device::Buffer d_bias;    // (D), written or added to; may be empty
  int64_t channels = 0;
  int64_t length = 0;
  int64_t batch = 1;
  Accumulate accumulate = Accumulate::No;  // of d_weight and d_bias
};

/// d_x[d, s] = sum over k of d_out[d, s - k + 1] * weight[d, k]; d_weight[d, k] = sum over batch and s of d_out[d, s] * x[d, s + k - 1];
/// d_bias[d] = sum of d_out[d]. Sums by a tree that depends on the sizes alone, so that a run repeats bit for bit.
void conv1d_backward(device::Stream& stream, const Conv1dBackward& args);

}  // namespace athanor::kernels
