// Settings of a step on random tokens.
#include "cli/bench_settings.h"

#include "base/error.h"
#include "cli/device_options.h"
#include "train/choice_files.h"
#include "train/kernel_files.h"

namespace athanor::cli {

train::TrainSettings bench_settings(const SettingFlags& flags, std::string_view command) {
  return bench_settings(flags.layers(), command);
}

train::TrainSettings bench_settings(std::span<const train::SettingLayer> layers, std::string_view command) {
  train::TrainSettings settings;
  settings.per_device_train_batch_size = 4;
  settings.model_config = {0, 256, 1024, 4, 4, 4, 0, 256};
  settings.model_config.tie_word_embeddings = true;
  settings.vocab_size = 512;
  train::apply_layers(settings, layers);
  settings.model_config.vocab_size = settings.vocab_size;
  settings.model_config.complete(std::string(command));
  if (settings.max_length == 0) settings.max_length = settings.model_config.max_position_embeddings;
  check(settings.max_length <= settings.model_config.max_position_embeddings,
        "{}: max_length {} is longer than the model's context of {} tokens; shorten one or lengthen the other", command,
        settings.max_length, settings.model_config.max_position_embeddings);
  settings.data = {"random tokens"};
  settings.output_dir = "none";
  settings.max_steps = 1;
  settings.validate();
  return settings;
}

void add_step_flags(SettingFlags& flags, CLI::App& command) {
  std::vector<std::string> names{"preset",       "depth",
                                 "vocab_size",   "batch_tokens",
                                 "max_length",   "per_device_train_batch_size",
                                 "optim",        "gradient_accumulation_steps",
                                 "sgd_momentum", "gradient_checkpointing",
                                 "ema_decay",    "label_smoothing_factor",
                                 "precision",    "max_grad_norm",
                                 "z_loss",       "float32_matmul_precision",
                                 "seed",         "device",
                                 "threads",      "kernel",
                                 "choices"};
  for (const train::SettingKey& key : train::setting_keys()) {
    if (key.name.starts_with("model_config.")) names.push_back(key.name);
  }
  flags.add_only(command, names);
}

std::unique_ptr<device::Device> open_device_of(const train::TrainSettings& settings) {
  device::DeviceOptions options;
  options.name = settings.device;
  options.threads = static_cast<int>(settings.threads);
  options.kernel_files = train::read_kernel_files(settings.kernel);
  options.rounds_factors = settings.matmul_precision() != kernels::MatMulPrecision::Highest;
  std::unique_ptr<device::Device> device = open_device_and_say(options);
  train::use_named_choices(*device, settings.choices);
  return device;
}

}  // namespace athanor::cli
