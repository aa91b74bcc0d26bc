// The gate of a feed-forward block (GeGLU): the activation is on the gate.
#pragma once

#include "device/device.h"
#include "kernels/gelu/gelu.h"

namespace athanor::kernels {

struct GeluGate {
  device::Buffer gate;  // (count) f32
  device::Buffer up;    // (count) f32
  device::Buffer out;   // (count) f32; neither gate nor up, which WebGPU refuses
  int64_t count = 0;
  GeluForm form = GeluForm::Erf;  // Gemma's is Tanh
};

/// out = gelu(gate) * up; saturates, so that no finite input gives NaN.
/// Throws Error if a buffer does not hold `count` values. Source: Shazeer 2020, arXiv:2002.05202.
void gelu_gate(device::Stream& stream, const GeluGate& args);

struct GeluGateBackward {
  device::Buffer d_out;   // (count)
  device::Buffer gate;    // (count)
  device::Buffer up;      // (count)
  device::Buffer d_gate;  // (count), written
  device::Buffer d_up;    // (count), written
  int64_t count = 0;
  GeluForm form = GeluForm::Erf;
};

/// d_gate = d_out * up * gelu'(gate); d_up = d_out * gelu(gate).
/// Throws Error if a buffer does not hold `count` values.
void gelu_gate_backward(device::Stream& stream, const GeluGateBackward& args);

}  // namespace athanor::kernels
