// Which values make no run.
#include "train/settings.h"

#include "base/error.h"
#include "train/optimizer.h"
#include "train/setting_error.h"

namespace athanor::train {

void TrainSettings::check_optimization() const {
  check_setting(sgd_momentum >= 0 && sgd_momentum < 1 && muon_momentum >= 0 && muon_momentum < 1,
                "sgd_momentum {} and muon_momentum {} must lie between 0 and 1", sgd_momentum, muon_momentum);
  check_setting(muon_learning_rate > 0 && muon_learning_rate <= 1e3,
                "muon_learning_rate is {}; it must lie above 0 and at most at 1000 (0.02 is usual)",
                muon_learning_rate);
  check_setting(precision == "f32" || precision == "mixed", "precision is \"{}\"; known are f32 and mixed", precision);
  check_setting(ema_decay >= 0 && ema_decay < 1, "ema_decay is {}; it must be 0 (none) or lie below 1", ema_decay);
  check_setting(label_smoothing_factor >= 0 && label_smoothing_factor < 1,
                "label_smoothing_factor is {}; it must lie between 0 and 1", label_smoothing_factor);
  check_setting(z_loss >= 0 && z_loss <= 1, "z_loss is {}; it must lie between 0 and 1 (1e-4 is usual)", z_loss);
  check_setting(guard_outlier == 0 || (guard_outlier > 1 && guard_outlier <= 1e6),
                "guard_outlier is {}; it must be 0 (off) or lie above 1", guard_outlier);
  check_setting(guard_action == "rollback" || guard_action == "stop",
                "guard_action is \"{}\"; known are rollback and stop", guard_action);
}

void TrainSettings::validate() const {
  check_setting(!data.empty(), "no data; name text files, folders or a token file");
  check_setting(!output_dir.empty(), "no output_dir; say where the run goes with -o FOLDER");
  check_setting(max_steps > 0 || minutes > 0,
                "neither max_steps nor minutes is set; say how long to train, as with --minutes 10");
  check_setting(max_steps <= (int64_t{1} << 40), "max_steps is {}; that is no number of steps", max_steps);
  check_setting(minutes >= 0 && minutes <= 1e6, "minutes is {}; it must lie between 0 and a million", minutes);
  check_setting(batch_tokens <= (int64_t{1} << 32), "batch_tokens is {}; it must lie between 0 and {}", batch_tokens,
                int64_t{1} << 32);
  const int64_t least = batch_tokens > 0 ? 0 : 1;  // 0: picked
  check_setting(per_device_train_batch_size >= least && per_device_train_batch_size <= 65536,
                "per_device_train_batch_size is {}; it must lie between {} and 65536", per_device_train_batch_size,
                least);
  check_setting(gradient_accumulation_steps >= least && gradient_accumulation_steps <= 65536,
                "gradient_accumulation_steps is {}; it must lie between {} and 65536", gradient_accumulation_steps,
                least);
  check_setting(lr_scheduler_type == "cosine" || lr_scheduler_type == "linear" || lr_scheduler_type == "constant" ||
                    lr_scheduler_type == "warmup_stable_decay",
                "lr_scheduler_type is \"{}\"; known are cosine, linear, constant and warmup_stable_decay",
                lr_scheduler_type);
  check_setting(decay_ratio > 0 && decay_ratio <= 1, "decay_ratio is {}; it must lie above 0 and at most at 1",
                decay_ratio);
  model_config.check_can_train("model_config");
  optimizer_kind(optim);
  check_optimization();
  check_setting(learning_rate > 0 && learning_rate <= 1e3,
                "learning_rate is {}; it must lie above 0 and at most at 1000 (1e-3 is usual here)", learning_rate);
  check_setting(min_lr_ratio >= 0 && min_lr_ratio <= 1, "min_lr_ratio is {}; it must lie between 0 and 1",
                min_lr_ratio);
  check_setting(weight_decay >= 0 && weight_decay <= 10, "weight_decay is {}; it must lie between 0 and 10",
                weight_decay);
  check_setting(adam_beta1 >= 0 && adam_beta1 < 1 && adam_beta2 >= 0 && adam_beta2 < 1,
                "adam_beta1 {} and adam_beta2 {} must lie between 0 and 1", adam_beta1, adam_beta2);
  check_setting(adam_epsilon > 0, "adam_epsilon is {}; it must lie above 0", adam_epsilon);
  check_setting(max_grad_norm >= 0, "max_grad_norm is {}; it must be at least 0", max_grad_norm);
  check_setting(validation_split > 0 && validation_split < 1, "validation_split is {}; it must lie between 0 and 1",
                validation_split);
  check_setting(packing == "documents" || packing == "naive",
                "packing is \"{}\"; known are documents (each sees itself alone) and naive", packing);
  for (const double weight : data_weights) {
    check_setting(weight > 0, "data_weights holds {}; weights must lie above 0", weight);
  }
  check_setting(split == "tekken" || split == "gpt2" || split == "llama3",
                "split is \"{}\"; known are tekken, gpt2 and llama3", split);
  check_setting(logging_steps > 0, "logging_steps is 0; it must be at least 1");
  check_setting(profile.empty() || (profile_first_step > 0 && profile_steps > 0 && profile_steps <= 100),
                "profile_first_step {} must be at least 1 and profile_steps {} between 1 and 100", profile_first_step,
                profile_steps);
  check_setting(threads <= 1024, "threads is {}; at most 1024", threads);
  matmul_precision();
}

kernels::MatMulPrecision TrainSettings::matmul_precision() const {
  const auto precision = kernels::matmul_precision_of(float32_matmul_precision);
  check_setting(precision.has_value(), "float32_matmul_precision is \"{}\"; known are highest, high and medium",
                float32_matmul_precision);
  return *precision;
}

}  // namespace athanor::train
