// Norms of each tensor's gradient, weights and update in one step, when a run asks for them: read back as one copy of 12 bytes a tensor.
#pragma once

#include "train/optimizer.h"

#include <memory>
#include <span>
#include <vector>

namespace athanor::train {

/// Of one tensor in one step.
struct TensorNorms {
  double gradient = 0;  // before clipping
  double weights = 0;   // after the step
  double update = 0;    // of what the step added to the weights, decay included; 0 where it was refused
};

class TensorNormMeter {
 public:
  TensorNormMeter(device::Stream& stream, const nn::Parameters& parameters);

  /// Records a copy of the weights, which takes as much memory as they until after_update().
  void before_update(device::Stream& stream);
  /// Records the sums once the update is recorded. gradients: as measured before it. The slabs' gradients are used up: they hold the update
  /// then.
  std::unique_ptr<device::Readback> after_update(device::Stream& stream, const GradientMeter& gradients);
  /// Waits; in the order of parameters.all().
  std::vector<TensorNorms> read(device::Readback& readback) const;

 private:
  /// Sums of squares of each tensor of a slab.
  struct Slab {
    kernels::NormTable table;
    device::Buffer partial;
    device::Buffer weight_sums;
    device::Buffer update_sums;
    device::Buffer before;          // the weights; only between before_update() and after_update()
    std::vector<size_t> tensors{};  // numbers in parameters.all()
  };

  const nn::Parameters* parameters_;
  std::vector<Slab> slabs_;
  device::Buffer sums_;  // of each slab its gradients', weights' and updates' sums: what is read
};

}  // namespace athanor::train
