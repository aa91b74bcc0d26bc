// AdamW over a model's slabs, one launch a slab, with moments in f32 or in 8 bits.
#pragma once

#include "kernels/adamw_8bit_update/adamw_8bit_update.h"
#include "train/optimizer.h"

namespace athanor::train {

/// AdamW of some slabs: all of them, or what another optimizer leaves.
class AdamwSlabs {
 public:
  /// which: numbers in parameters.slabs().
  AdamwSlabs(device::Stream& stream, const nn::Parameters& parameters, const OptimizerSettings& settings,
             const std::vector<size_t>& which);

  void update(device::Stream& stream, const device::Buffer& stats, double learning_rate, int64_t applied_step);
  /// exp_avg and exp_avg_sq of each tensor, named as in PyTorch.
  void add_state(std::vector<StateTensor>& state) const;

 private:
  struct Moments {
    size_t slab;
    device::Buffer m;
    device::Buffer v;
    device::Buffer segments;
  };

  const nn::Parameters* parameters_;
  OptimizerSettings settings_;
  std::vector<Moments> moments_;
};

class Adamw final : public Optimizer {
 public:
  Adamw(device::Stream& stream, const nn::Parameters& parameters, const OptimizerSettings& settings);
  void update(device::Stream& stream, double learning_rate, int64_t applied_step) override;
  std::vector<StateTensor> state() const override;

 private:
  AdamwSlabs slabs_;
};

/// Moments in 8 bits: a quarter of the memory.
class Adamw8bit final : public Optimizer {
 public:
  Adamw8bit(device::Stream& stream, const nn::Parameters& parameters, const OptimizerSettings& settings);
  void update(device::Stream& stream, double learning_rate, int64_t applied_step) override;
  std::vector<StateTensor> state() const override;

 private:
  struct Moments {
    device::Buffer m_codes;
    device::Buffer v_codes;
    device::Buffer scales;
    kernels::Adamw8bitBlocks blocks;
  };
  std::vector<Moments> moments_;  // one a slab
};

/// All numbers of parameters.slabs().
std::vector<size_t> all_slabs(const nn::Parameters& parameters);

}  // namespace athanor::train
