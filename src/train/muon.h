// Muon for the hidden matrices, AdamW for embedding, head and norms.
#pragma once

#include "train/adamw.h"

namespace athanor::train {

class Muon final : public Optimizer {
 public:
  Muon(device::Stream& stream, const nn::Parameters& parameters, const OptimizerSettings& settings);
  /// learning_rate is AdamW's; hidden matrices take muon_rate_ratio times as much.
  void update(device::Stream& stream, double learning_rate, int64_t applied_step) override;
  /// momentum_buffer of each hidden matrix, AdamW's moments of the rest.
  std::vector<StateTensor> state() const override;

 private:
  device::Buffer momentum_of(const nn::Parameter& parameter) const;

  AdamwSlabs rest_;
  std::vector<device::Buffer> momenta_;  // one a slab; empty where AdamW works
};

}  // namespace athanor::train
