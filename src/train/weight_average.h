// The exponential average of the weights: smoother than the last step's, and what evaluation, samples and the checkpoint's model show when
// it is on.
#pragma once

#include "nn/parameters.h"
#include "train/optimizer.h"

#include <cstdint>
#include <vector>

namespace athanor::train {

/// Behind a tensor's name, in a checkpoint whose model is the average: the weights that training goes on from.
inline constexpr const char* kTrainedSuffix = ".trained";

class WeightAverage {
 public:
  /// decay in (0, 1). Call restart() once the weights are there.
  WeightAverage(device::Stream& stream, const nn::Parameters& parameters, double decay);

  /// Records average = d average + (1 - d) weights after applied step number `applied_step` (from 1), with d = min(decay, (1 + t) / (10 + t))
  /// so that the first weights do not stay in it for long; nothing where `stats` refuse the step.
  void update(device::Stream& stream, const device::Buffer& stats, int64_t applied_step);
  /// Exchanges weights and average, f16 mirror included; a second call undoes it. Needs memory of one slab meanwhile.
  void swap(device::Stream& stream);
  /// The average is a copy of the weights.
  void restart(device::Stream& stream);
  /// NAME.trained of each tensor: the average, or the trained weights while the two are swapped.
  std::vector<StateTensor> state() const;

 private:
  const nn::Parameters* parameters_;
  double decay_;
  std::vector<device::Buffer> averages_;  // one a slab
};

/// Weights and average swapped as long as it lives; nothing for nullptr.
class ShownAverage {
 public:
  ShownAverage(device::Stream& stream, WeightAverage* average) : stream_(stream), average_(average) {
    if (average_ != nullptr) average_->swap(stream_);
  }
  ShownAverage(const ShownAverage&) = delete;
  ShownAverage& operator=(const ShownAverage&) = delete;
  ~ShownAverage();

 private:
  device::Stream& stream_;
  WeightAverage* average_;
};

}  // namespace athanor::train
