// The rectifier: negative values become zero.
#pragma once

#include "device/device.h"

namespace athanor::kernels {

struct Relu {
  device::Buffer x;    // (count) f32
  device::Buffer out;  // (count) f32; not x, which WebGPU refuses
  int64_t count = 0;
};

/// out = max(x, 0). Throws Error if a buffer does not hold `count` values. Source: Nair and Hinton 2010.
void relu(device::Stream& stream, const Relu& args);

struct ReluBackward {
  device::Buffer d_out;  // (count)
  device::Buffer x;      // (count) of the forward, or its out: their signs agree
  device::Buffer d_x;    // (count), written
  int64_t count = 0;
};

/// d_x = d_out where x > 0, else 0; at 0 the slope is 0, as in PyTorch. Throws Error if a buffer does not hold `count` values.
void relu_backward(device::Stream& stream, const ReluBackward& args);

}  // namespace athanor::kernels
