// Steps on random tokens.
#include "train/random_step.h"

#include "train/step_settings.h"

namespace athanor::train {

RandomStep::RandomStep(device::Stream& stream, const TrainSettings& settings, Weights weights)
    : model_(stream, settings.model_config, nn::Trained::Yes, precision_of(settings)),
      step_(stream, model_, optimizer_settings(settings), recompute_of(settings), loss_terms(settings),
            settings.ema_decay, settings.matmul_precision()),
      rows_{settings.per_device_train_batch_size, settings.max_length},
      accumulation_(settings.gradient_accumulation_steps),
      seed_(settings.seed),
      measures_norms_(settings.log_layer_norms_steps > 0),
      vocabulary_(static_cast<uint64_t>(settings.model_config.vocab_size)),
      random_(settings.seed, RandomStream::Test) {
  if (weights == Weights::Initialized) model_.parameters().initialize(stream, settings.seed);
}

void RandomStep::run() {
  std::vector<uint32_t> ids(static_cast<size_t>(rows_.batch * rows_.length));
  step_.begin(tokens_per_step(), seed_, steps_);
  for (int64_t micro = 0; micro < accumulation_; ++micro) {
    for (uint32_t& id : ids) id = static_cast<uint32_t>(random_.below(vocabulary_));
    const std::vector<int32_t> targets(ids.begin(), ids.end());
    step_.add(ids, targets, rows_);
  }
  step_.drain();
  step_.apply(1e-4, 0, measures_norms_ ? TrainStep::MeasureNorms::Yes : TrainStep::MeasureNorms::No);
  steps_ += 1;
}

}  // namespace athanor::train
