// A model with its optimizer that takes training steps on random tokens: what `bench train` measures and `explain` takes apart.
#pragma once

#include "base/random.h"
#include "train/settings.h"
#include "train/train_step.h"

namespace athanor::train {

class RandomStep {
 public:
  enum class Weights { Initialized, Undefined };  // undefined: for dry runs, which look at no value
  /// settings: model_config complete, max_length, batch, accumulation, seed.
  RandomStep(device::Stream& stream, const TrainSettings& settings, Weights weights = Weights::Initialized);

  void run();
  /// Waits for the last one.
  void wait() { step_.drain(); }
  const nn::Llama& model() const { return model_; }
  const TrainStep& train_step() const { return step_; }
  int64_t tokens_per_step() const { return rows_.batch * rows_.length * accumulation_; }

 private:
  nn::Llama model_;
  TrainStep step_;
  nn::Rows rows_;
  int64_t accumulation_;
  uint64_t seed_;
  bool measures_norms_;
  int64_t steps_ = 0;
  uint64_t vocabulary_;
  Random random_;
};

}  // namespace athanor::train
