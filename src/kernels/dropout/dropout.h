// Dropout: values set to zero at random, the others raised. The mask is a function of its key, never stored.
#pragma once

#include "device/device.h"

#include <cstdint>

namespace athanor::kernels {

/// What the mask of a launch depends on, beside row and element.
struct DropoutKey {
  uint64_t seed = 0;
  int64_t step = 0;       // of training, below 2^32
  int64_t layer = 0;      // which dropout of the model, below 2^32
  int64_t first_row = 0;  // of this launch within the step: a micro-batch has the mask of its part of the whole batch
};

struct Dropout {
  device::Buffer x;    // (rows, C) f32
  device::Buffer out;  // (rows, C), written; on WebGPU not x
  int64_t rows = 0;
  int64_t columns = 0;  // C
  float p = 0;          // share of values that are dropped, in [0, 1)
  DropoutKey key;
};

/// out = x / (1 - p) where the mask keeps a value, 0 where it drops it. The same bits on every device.
///
/// Element e of row r is kept when its 32-bit number is at least p * 2^32. The number's high half is half h of word e % 4 of
/// philox4x32({b, first_row + r, step, layer}, key), with q = e / 4, b = q / 128 * 64 + q % 64, h = q / 64 % 2 (0 the low half), and the key of
/// Random(seed, RandomStream::Dropout); the low half is that half of the same word with 2^31 added to b. So eight elements share a call, and
/// the second call is needed only for the one in 65,536 whose high half does not decide.
/// Throws Error if a buffer's size is not as in Dropout, p is not in [0, 1), or a part of the key does not fit 32 bits.
void dropout(device::Stream& stream, const Dropout& args);

/// The gradient: x is d_out and out is d_x, under the same mask.
void dropout_backward(device::Stream& stream, const Dropout& args);

}  // namespace athanor::kernels
