// Bytes and MLX's affine groups back to f32.
#pragma once

#include "device/device.h"
#include "kernels/dequantize/affine_layout.h"

namespace athanor::kernels {

struct Dequantize {
  device::Buffer q;    // (ceil(count / 4)) u32: four values each, the lowest byte first
  device::Buffer out;  // (count) f32
  int64_t count = 0;
};

/// out[i] = byte i of q, 0 to 255, as f32; exact. Any count: the last u32 may hold fewer than four values.
/// Throws Error if a buffer's size is not as in Dequantize.
void dequantize(device::Stream& stream, const Dequantize& args);

struct AffineDequantize {
  device::Buffer q;       // (rows, C * bits / 32) u32, lowest bits first
  device::Buffer scales;  // (rows, C / group) of layout.scale_type; an odd number of halves is filled up to whole u32
  device::Buffer biases;  // the same
  device::Buffer out;     // (rows, C) f32
  int64_t rows = 0;
  int64_t columns = 0;  // C, a multiple of layout.group
  AffineLayout layout;
};

/// out = q * scale + bias, with one scale and one bias for each group of `layout.group` values along a row: what mlx.core.dequantize
/// does. q, scales and biases lie as mlx.core.quantize gives them.
/// Throws Error for a layout that MLX does not have, or a buffer whose size is not as in AffineDequantize.
void affine_dequantize(device::Stream& stream, const AffineDequantize& args);

}  // namespace athanor::kernels
