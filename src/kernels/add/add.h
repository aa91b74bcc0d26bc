// Sums and differences: a residual connection, a bias added to each row, and the accumulation of gradients.
#pragma once

#include "device/device.h"

namespace athanor::kernels {

struct Add {
  device::Buffer a;    // (count) f32
  device::Buffer b;    // (count) f32, or (columns) when a trailing vector is broadcast
  device::Buffer out;  // (count) f32; neither a nor b, which WebGPU refuses
  int64_t count = 0;
  int64_t columns = 0;  // of a broadcast b, which meets each row of a; 0: b is as large as a
};
using Sub = Add;

/// out = a + b. b is as large as a, or a vector of `columns` values that is added to each row of a.
/// Throws Error if a buffer's size is not as in Add or count is no multiple of columns.
void add(device::Stream& stream, const Add& args);

/// out = a - b; else as add.
void sub(device::Stream& stream, const Sub& args);

struct AddBackward {
  device::Buffer d_out;  // (count)
  device::Buffer d_a;    // (count), written; may be empty when nobody needs it
  device::Buffer d_b;    // (count) or (columns), written; may be empty when nobody needs it
  int64_t count = 0;
  int64_t columns = 0;  // as in Add
};
using SubBackward = AddBackward;

/// d_a = d_out; d_b = d_out, or its sum over rows when b was broadcast: by a fixed tree (broadcast.h), so that a run repeats bit
/// for bit. Throws Error as add does.
void add_backward(device::Stream& stream, const AddBackward& args);

/// d_a = d_out; d_b = -d_out, or the sum over rows of that; else as add_backward.
void sub_backward(device::Stream& stream, const SubBackward& args);

struct AddInto {
  device::Buffer from;  // (count) f32
  device::Buffer into;  // (count) f32; read and written, not `from`
  int64_t count = 0;
};

/// into += from: a tensor that was used twice gets the sum of both gradients.
/// Throws Error if a buffer does not hold `count` values.
void gradient_accumulate(device::Stream& stream, const AddInto& args);

}  // namespace athanor::kernels
