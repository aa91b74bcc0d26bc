// Root-mean-square normalisation of rows, and its gradient.
#pragma once

#include "device/device.h"

namespace athanor::kernels {

struct RmsNorm {
  device::Buffer x;       // (rows, C) f32
  device::Buffer weight;  // (C) f32
  device::Buffer out;     // (rows, C) f32; not x
  int64_t rows = 0;
  int64_t columns = 0;  // C
  float eps = 1e-5F;
  float weight_offset = 0;  // Gemma multiplies by 1 + weight
};

/// out = x * (weight + weight_offset) / sqrt(mean(x^2) + eps) for each row. Accumulates in f32.
/// Throws Error if a buffer's size is not as in RmsNorm. Source: Zhang and Sennrich 2019, arXiv:1910.07467.
void rms_norm(device::Stream& stream, const RmsNorm& args);

struct RmsNormBackward {
  device::Buffer d_out;     // (rows, C)
  device::Buffer x;         // (rows, C)
  device::Buffer weight;    // (C)
  device::Buffer d_x;       // (rows, C), written, neither d_out nor x; may be empty when nobody needs it
  device::Buffer d_weight;  // (C), written or added to; may be empty when nobody needs it
  int64_t rows = 0;
  int64_t columns = 0;
  float eps = 1e-5F;
  float weight_offset = 0;
  bool accumulate_weight = false;  // d_weight += instead of =
};

/// With n = 1 / sqrt(mean(x^2) + eps) and g = d_out * (weight + weight_offset):
/// d_x = n * g - x * n^3 * mean(g * x); d_weight = sum over rows of d_out * x * n, by a tree over blocks of rows that depends on the
/// sizes alone, so that a run repeats bit for bit.
void rms_norm_backward(device::Stream& stream, const RmsNormBackward& args);

}  // namespace athanor::kernels
