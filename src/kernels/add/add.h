// Sums of two tensors of one shape: a residual connection, and the accumulation of gradients.
#pragma once

#include "device/device.h"

namespace athanor::kernels {

struct Add {
  device::Buffer a;    // (count) f32
  device::Buffer b;    // (count) f32
  device::Buffer out;  // (count) f32; on WebGPU neither a nor b
  int64_t count = 0;
};

/// out = a + b. The gradient of both operands is d_out itself, so there is no add_backward kernel for equal shapes.
/// Throws Error if a buffer does not hold `count` values.
void add(device::Stream& stream, const Add& args);

struct AddInto {
  device::Buffer from;  // (count) f32
  device::Buffer into;  // (count) f32; read and written, not `from`
  int64_t count = 0;
};

/// into += from: a tensor that was used twice gets the sum of both gradients.
/// Throws Error if a buffer does not hold `count` values.
void gradient_accumulate(device::Stream& stream, const AddInto& args);

}  // namespace athanor::kernels
