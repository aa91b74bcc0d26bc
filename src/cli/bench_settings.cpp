// Settings of a step on random tokens.
#include "cli/bench_settings.h"

#include "base/error.h"
#include "cli/device_options.h"
#include "train/kernel_files.h"

namespace athanor::cli {

train::TrainSettings bench_settings(const SettingFlags& flags, std::string_view command) {
  train::TrainSettings settings;
  settings.per_device_train_batch_size = 4;
  settings.model_config = {0, 256, 1024, 4, 4, 4, 0, 256};
  settings.model_config.tie_word_embeddings = true;
  settings.vocab_size = 512;
  flags.apply(settings);
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

std::unique_ptr<device::Device> open_device_of(const train::TrainSettings& settings) {
  device::DeviceOptions options;
  options.name = settings.device;
  options.threads = static_cast<int>(settings.threads);
  options.kernel_files = train::read_kernel_files(settings.kernel);
  options.rounds_factors = settings.matmul_precision() != kernels::MatMulPrecision::Highest;
  return open_device_and_say(options);
}

}  // namespace athanor::cli
