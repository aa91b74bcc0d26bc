// AdamW over a model's slabs: norm of all gradients, clipping and update stay on the device; the host learns of them one step late.
#pragma once

#include "nn/parameters.h"

#include <cstdint>
#include <vector>

namespace athanor::train {

struct AdamwSettings {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.1;  // of matrices only
  double max_grad_norm = 1;   // 0: no clipping
};

/// What the device found out about a step's gradients.
struct GradientStats {
  float norm = 0;
  float clip_scale = 1;
  float not_finite = 0;  // 1: the step changed nothing
  float unused = 0;
};

class Adamw {
 public:
  Adamw(device::Stream& stream, const nn::Parameters& parameters, const AdamwSettings& settings);

  /// Records norm and stats of the gradients.
  void measure(device::Stream& stream);
  /// Records the update as applied step number `applied_step` (from 1), with the stats that measure() left on the device.
  void update(device::Stream& stream, double learning_rate, int64_t applied_step);

  /// (4) f32 on the device: a GradientStats.
  const device::Buffer& stats() const { return stats_; }

  struct Moments {
    device::Buffer m;
    device::Buffer v;
  };
  /// One pair a slab, laid out as the slab.
  const std::vector<Moments>& moments() const { return moments_; }

 private:
  const nn::Parameters* parameters_;
  AdamwSettings settings_;
  std::vector<Moments> moments_;
  std::vector<device::Buffer> segments_;
  device::Buffer partial_;
  std::vector<int64_t> partial_offsets_;  // of each slab in partial_, in values
  int64_t partial_count_ = 0;
  device::Buffer stats_;
};

}  // namespace athanor::train
