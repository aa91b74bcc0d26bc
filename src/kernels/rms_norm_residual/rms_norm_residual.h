// A residual addition and the norm of its sum in one pass, and their gradient.
#pragma once

#include "device/device.h"

namespace athanor::kernels {

struct RmsNormResidual {
  device::Buffer x;         // (rows, C) f32: what a block adds to the residual stream
  device::Buffer residual;  // (rows, C): the stream before it
  device::Buffer weight;    // (C)
  device::Buffer y;         // (rows, C), written: the stream after it; neither x nor residual
  device::Buffer out;       // (rows, C), written: its norm
  int64_t rows = 0;
  int64_t columns = 0;  // C
  float eps = 1e-5F;
  float weight_offset = 0;  // Gemma multiplies by 1 + weight
};

/// y = x + residual; out = y * (weight + weight_offset) / sqrt(mean(y^2) + eps) for each row. Accumulates in f32.
/// Throws Error if a buffer's size is not as in RmsNormResidual. Source: Zhang and Sennrich 2019, arXiv:1910.07467.
void rms_norm_residual(device::Stream& stream, const RmsNormResidual& args);

struct RmsNormResidualBackward {
  device::Buffer d_out;  // (rows, C): the gradient of the norm's output
  device::Buffer
      d_y;  // (rows, C): the gradient that reaches y along the residual stream; may be empty when there is none
  device::Buffer y;         // (rows, C): as the forward wrote it
  device::Buffer weight;    // (C)
  device::Buffer d_x;       // (rows, C), written: the gradient of x and of residual, which is the same; may be empty
  device::Buffer d_weight;  // (C), written or added to; may be empty when nobody needs it
  int64_t rows = 0;
  int64_t columns = 0;
  float eps = 1e-5F;
  float weight_offset = 0;
  bool accumulate_weight = false;  // d_weight += instead of =
};

/// d_x = d_y + the gradient of rms_norm at y for d_out; d_weight as in rms_norm_backward, with the same bits on every run.
/// Throws Error if a buffer's size is not as in RmsNormResidualBackward. On WebGPU d_x is none of the others.
void rms_norm_residual_backward(device::Stream& stream, const RmsNormResidualBackward& args);

}  // namespace athanor::kernels
