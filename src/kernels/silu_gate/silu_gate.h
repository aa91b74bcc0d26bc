// The gate of a feed-forward block (SwiGLU): the activation is on the gate.
#pragma once

#include "device/device.h"

namespace athanor::kernels {

struct SiluGate {
  device::Buffer gate;  // (count) f32
  device::Buffer up;    // (count) f32
  device::Buffer out;   // (count) f32; on WebGPU neither gate nor up
  int64_t count = 0;
};

/// out = silu(gate) * up with silu(x) = x / (1 + e^-x); saturates, so that no finite input gives NaN.
/// Throws Error if a buffer does not hold `count` values. Source: Shazeer 2020, arXiv:2002.05202.
void silu_gate(device::Stream& stream, const SiluGate& args);

struct SiluGateBackward {
  device::Buffer d_out;   // (count)
  device::Buffer gate;    // (count)
  device::Buffer up;      // (count)
  device::Buffer d_gate;  // (count), written
  device::Buffer d_up;    // (count), written
  int64_t count = 0;
};

/// With s = 1 / (1 + e^-gate): d_gate = d_out * up * s * (1 + gate * (1 - s)); d_up = d_out * gate * s.
/// Throws Error if a buffer does not hold `count` values.
void silu_gate_backward(device::Stream& stream, const SiluGateBackward& args);

}  // namespace athanor::kernels
