// Products value by value: of two tensors, or of each row with a vector.
#pragma once

#include "device/device.h"

namespace athanor::kernels {

struct Mul {
  device::Buffer a;    // (count) f32
  device::Buffer b;    // (count) f32, or (columns) when a trailing vector is broadcast
  device::Buffer out;  // (count) f32; neither a nor b, which WebGPU refuses
  int64_t count = 0;
  int64_t columns = 0;  // of a broadcast b, which meets each row of a; 0: b is as large as a
};

/// out = a * b. b is as large as a, or a vector of `columns` values that each row of a is multiplied by.
/// Throws Error if a buffer's size is not as in Mul or count is no multiple of columns.
void mul(device::Stream& stream, const Mul& args);

struct MulBackward {
  device::Buffer d_out;  // (count)
  device::Buffer a;      // (count)
  device::Buffer b;      // (count) or (columns)
  device::Buffer d_a;    // (count), written; may be empty when nobody needs it
  device::Buffer d_b;    // as b, written; may be empty when nobody needs it
  int64_t count = 0;
  int64_t columns = 0;  // as in Mul
};

/// d_a = d_out * b; d_b = d_out * a, or its sum over rows when b was broadcast: by a fixed tree (broadcast.h), so that a run
/// repeats bit for bit. Throws Error as mul does.
void mul_backward(device::Stream& stream, const MulBackward& args);

}  // namespace athanor::kernels
