// A running mean of weights over the steps: smoother than the last step's, and often better to evaluate.
#pragma once

#include "device/device.h"

namespace athanor::kernels {

struct EmaUpdate {
  device::Buffer ema;      // (count) f32, in and out; a copy of the weights before the first step
  device::Buffer weights;  // (count) f32: a slab, padding included
  device::Buffer stats;    // (4) f32 from finalize_grad_stats: flag set: nothing changes; may be empty
  int64_t count = 0;
  float decay = 0.999F;
  float one_minus_decay = 0.001F;  // from the host in double, as 1 - decay loses digits in f32
};

/// ema = decay ema + (1 - decay) weights.
/// Throws Error if a buffer's size is not as in EmaUpdate or the decay is not in [0, 1].
void ema_update(device::Stream& stream, const EmaUpdate& args);

}  // namespace athanor::kernels
