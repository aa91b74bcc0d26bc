// Which values make no run.
#include "train/settings.h"

#include "base/error.h"
#include "train/optimizer.h"

namespace athanor::train {

void TrainSettings::check_optimization() const {
  check(sgd_momentum >= 0 && sgd_momentum < 1 && muon_momentum >= 0 && muon_momentum < 1,
        "train: sgd_momentum {} and muon_momentum {} must lie between 0 and 1", sgd_momentum, muon_momentum);
  check(muon_learning_rate > 0 && muon_learning_rate <= 1e3,
        "train: muon_learning_rate is {}; it must lie above 0 and at most at 1000 (0.02 is usual)", muon_learning_rate);
  check(precision == "f32" || precision == "mixed", "train: precision is \"{}\"; known are f32 and mixed", precision);
  check(ema_decay >= 0 && ema_decay < 1, "train: ema_decay is {}; it must be 0 (none) or lie below 1", ema_decay);
  check(label_smoothing_factor >= 0 && label_smoothing_factor < 1,
        "train: label_smoothing_factor is {}; it must lie between 0 and 1", label_smoothing_factor);
  check(z_loss >= 0 && z_loss <= 1, "train: z_loss is {}; it must lie between 0 and 1 (1e-4 is usual)", z_loss);
  check(guard_outlier == 0 || (guard_outlier > 1 && guard_outlier <= 1e6),
        "train: guard_outlier is {}; it must be 0 (off) or lie above 1", guard_outlier);
  check(guard_action == "rollback" || guard_action == "stop",
        "train: guard_action is \"{}\"; known are rollback and stop", guard_action);
}

void TrainSettings::validate() const {
  check(!data.empty(), "train: no data; name text files, folders or a token file");
  check(!output_dir.empty(), "train: no output_dir; say where the run goes with -o FOLDER");
  check(max_steps > 0 || minutes > 0,
        "train: neither max_steps nor minutes is set; say how long to train, as with --minutes 10");
  check(max_steps <= (int64_t{1} << 40), "train: max_steps is {}; that is no number of steps", max_steps);
  check(minutes >= 0 && minutes <= 1e6, "train: minutes is {}; it must lie between 0 and a million", minutes);
  check(batch_tokens <= (int64_t{1} << 32), "train: batch_tokens is {}; it must lie between 0 and {}", batch_tokens,
        int64_t{1} << 32);
  const int64_t least = batch_tokens > 0 ? 0 : 1;  // 0: picked
  check(per_device_train_batch_size >= least && per_device_train_batch_size <= 65536,
        "train: per_device_train_batch_size is {}; it must lie between {} and 65536", per_device_train_batch_size,
        least);
  check(gradient_accumulation_steps >= least && gradient_accumulation_steps <= 65536,
        "train: gradient_accumulation_steps is {}; it must lie between {} and 65536", gradient_accumulation_steps,
        least);
  check(lr_scheduler_type == "cosine" || lr_scheduler_type == "linear" || lr_scheduler_type == "constant" ||
            lr_scheduler_type == "warmup_stable_decay",
        "train: lr_scheduler_type is \"{}\"; known are cosine, linear, constant and warmup_stable_decay",
        lr_scheduler_type);
  check(decay_ratio > 0 && decay_ratio <= 1, "train: decay_ratio is {}; it must lie above 0 and at most at 1",
        decay_ratio);
  model_config.check_can_train("train: model_config");
  optimizer_kind(optim);
  check_optimization();
  check(learning_rate > 0 && learning_rate <= 1e3,
        "train: learning_rate is {}; it must lie above 0 and at most at 1000 (1e-3 is usual here)", learning_rate);
  check(min_lr_ratio >= 0 && min_lr_ratio <= 1, "train: min_lr_ratio is {}; it must lie between 0 and 1", min_lr_ratio);
  check(weight_decay >= 0 && weight_decay <= 10, "train: weight_decay is {}; it must lie between 0 and 10",
        weight_decay);
  check(adam_beta1 >= 0 && adam_beta1 < 1 && adam_beta2 >= 0 && adam_beta2 < 1,
        "train: adam_beta1 {} and adam_beta2 {} must lie between 0 and 1", adam_beta1, adam_beta2);
  check(adam_epsilon > 0, "train: adam_epsilon is {}; it must lie above 0", adam_epsilon);
  check(max_grad_norm >= 0, "train: max_grad_norm is {}; it must be at least 0", max_grad_norm);
  check(validation_split > 0 && validation_split < 1, "train: validation_split is {}; it must lie between 0 and 1",
        validation_split);
  check(packing == "documents" || packing == "naive",
        "train: packing is \"{}\"; known are documents (each sees itself alone) and naive", packing);
  for (const double weight : data_weights) {
    check(weight > 0, "train: data_weights holds {}; weights must lie above 0", weight);
  }
  check(split == "tekken" || split == "gpt2" || split == "llama3",
        "train: split is \"{}\"; known are tekken, gpt2 and llama3", split);
  check(logging_steps > 0, "train: logging_steps is 0; it must be at least 1");
  check(profile.empty() || (profile_first_step > 0 && profile_steps > 0 && profile_steps <= 100),
        "train: profile_first_step {} must be at least 1 and profile_steps {} between 1 and 100", profile_first_step,
        profile_steps);
  check(threads <= 1024, "train: threads is {}; at most 1024", threads);
  matmul_precision();
}

kernels::MatMulPrecision TrainSettings::matmul_precision() const {
  const auto precision = kernels::matmul_precision_of(float32_matmul_precision);
  check(precision.has_value(), "train: float32_matmul_precision is \"{}\"; known are highest, high and medium",
        float32_matmul_precision);
  return *precision;
}

}  // namespace athanor::train
