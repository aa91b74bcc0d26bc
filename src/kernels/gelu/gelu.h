// The Gaussian error linear unit: each value times the chance that a normal number is below it; exact, and in its tanh form.
#pragma once

#include "device/device.h"

namespace athanor::kernels {

/// Which of the two functions that go by the name: Erf is PyTorch's default, Tanh its approximate="tanh" (GPT-2, Gemma).
enum class GeluForm { Erf, Tanh };

struct Gelu {
  device::Buffer x;    // (count) f32
  device::Buffer out;  // (count) f32; not x, which WebGPU refuses
  int64_t count = 0;
  GeluForm form = GeluForm::Erf;
};

/// Erf: out = x * (1 + erf(x / sqrt(2))) / 2. Tanh: out = x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2. Both saturate, so that
/// no finite input gives NaN. Throws Error if a buffer does not hold `count` values.
/// Source: Hendrycks and Gimpel 2016, arXiv:1606.08415.
void gelu(device::Stream& stream, const Gelu& args);

struct GeluBackward {
  device::Buffer d_out;  // (count)
  device::Buffer x;      // (count)
  device::Buffer d_x;    // (count), written
  int64_t count = 0;
  GeluForm form = GeluForm::Erf;
};

/// d_x = d_out * gelu'(x). Erf: gelu'(x) = P(x) + x * p(x) with the normal distribution P and its density p.
/// Throws Error if a buffer does not hold `count` values.
void gelu_backward(device::Stream& stream, const GeluBackward& args);

}  // namespace athanor::kernels
