// Rotary position embedding of query or key heads, its gradient, and the table of angles.
#pragma once

#include "device/device.h"

#include <cstdint>
#include <vector>

namespace athanor::kernels {

struct Rope {
  device::Buffer x;      // (rows, H*D) f32
  device::Buffer table;  // (positions, D) f32: D/2 cosines, then D/2 sines; see rope_table
  device::Buffer out;    // (rows, H*D), written; not x
  int64_t rows = 0;
  int64_t heads = 0;     // H
  int64_t head_dim = 0;  // D, even
  int64_t length = 0;    // row r has position first_position + r % length
  int64_t first_position = 0;
};

/// Rotates the halves of each head: pairs (i, i + D/2) by the angle of their position,
/// out[i] = x[i] cos - x[i + D/2] sin, out[i + D/2] = x[i + D/2] cos + x[i] sin.
/// Throws Error if a buffer's size is not as in Rope, D is odd, or a position is not in the table.
/// Source: Su et al. 2021, arXiv:2104.09864, with pairs as Hugging Face lays them.
void rope(device::Stream& stream, const Rope& args);

/// The gradient: x is d_out and out is d_x, rotated by the negative angle.
void rope_backward(device::Stream& stream, const Rope& args);

/// (positions, D) values: cos of D/2 angles, then sin. angle = position * theta^(-2i/D). Inverse frequencies are rounded to f32
/// as Hugging Face keeps them; angle, cos and sin are computed in double, then rounded.
std::vector<float> rope_table(int64_t positions, int64_t head_dim, double theta);

}  // namespace athanor::kernels
