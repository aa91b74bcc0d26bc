// Stochastic gradient descent with momentum over a model's slabs.
#pragma once

#include "train/optimizer.h"

namespace athanor::train {

/// torch.optim.SGD: the weight decay is part of the gradient.
class Sgd final : public Optimizer {
 public:
  Sgd(device::Stream& stream, const nn::Parameters& parameters, const OptimizerSettings& settings);
  void update(device::Stream& stream, double learning_rate, int64_t applied_step) override;
  /// momentum_buffer of each tensor; nothing without momentum.
  std::vector<StateTensor> state() const override;

 private:
  std::vector<device::Buffer> momenta_;  // one a slab; none without momentum
  std::vector<device::Buffer> segments_;
};

}  // namespace athanor::train
