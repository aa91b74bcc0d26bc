// Gradients times one number, in place: known to the host, or the clip scale that a device found out.
#pragma once

#include "device/device.h"

namespace athanor::kernels {

struct GradientScale {
  device::Buffer gradients;  // (count) f32, in and out
  int64_t count = 0;
  float factor = 1;
};

/// gradients *= factor.
/// Throws Error if the buffer does not hold `count` values or the factor is not finite.
void gradient_scale(device::Stream& stream, const GradientScale& args);

struct ClipGrad {
  device::Buffer gradients;  // (count) f32, in and out
  device::Buffer stats;      // (4) f32 from finalize_grad_stats: norm, clip scale, flag, 0
  int64_t count = 0;
};

/// gradients *= clip scale, which finalize_grad_stats found for the norm of all gradients. With its flag set (a gradient is not finite)
/// not a bit changes. PyTorch's clip_grad_norm_ divides by norm + 1e-6 instead of norm.
/// Throws Error if a buffer's size is not as in ClipGrad.
void clip_grad_by_norm(device::Stream& stream, const ClipGrad& args);

}  // namespace athanor::kernels
