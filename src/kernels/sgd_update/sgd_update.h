// Stochastic gradient descent over a slab, with or without momentum: all tensors of one kind in one buffer, one launch.
#pragma once

#include "kernels/segments/segments.h"

namespace athanor::kernels {

enum class Nesterov { No, Yes };

struct SgdUpdate {
  device::Buffer weights;    // (count) f32, in and out
  device::Buffer gradients;  // (count) f32
  device::Buffer m;          // (count) f32, in and out, zeros before the first step; empty without momentum
  device::Buffer segments;   // from upload_segments
  device::Buffer
      stats;  // (4) f32 from finalize_grad_stats: gradients are multiplied by the clip scale; flag set: nothing changes
  int64_t count = 0;
  float lr = 0;
  float momentum = 0;  // in [0, 1); 0: none
  Nesterov nesterov = Nesterov::No;
};

/// g = clip scale * gradient + decay w, m = momentum m + g, w -= lr d, where d is g + momentum m (Nesterov), m, or g without momentum:
/// torch.optim.SGD with dampening 0. The weight decay is part of the gradient (L2), so the momentum carries it too. Elements outside
/// all segments are not touched. Moments too small for a normal f32 become 0.
/// Throws Error if a buffer's size is not as in SgdUpdate, or for Nesterov without momentum.
void sgd_update(device::Stream& stream, const SgdUpdate& args);

}  // namespace athanor::kernels
