// From settings to a run.
#include "train/session.h"

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/folder_lock.h"
#include "device/device_lost.h"
#include "train/kernel_files.h"
#include "train/schedule.h"
#include "train/sizing.h"

namespace athanor::train {

namespace fs = std::filesystem;

namespace {

device::DeviceOptions device_options(const TrainSettings& settings) {
  device::DeviceOptions options;
  options.name = settings.device;
  options.threads = static_cast<int>(settings.threads);
  options.kernel_files = read_kernel_files(settings.kernel);
  return options;
}

void check_folder(const TrainSettings& settings, const RunFolder& run, Resume resume) {
  const std::string path = run.path().string();
  check(!fs::exists(run.path()) || fs::is_directory(run.path()), "{}: is a file; choose another folder with -o", path);
  check(resume == Resume::Yes || !run.holds_run(),
        "{}: holds a run already; go on with --resume, or choose another folder with -o", settings.output_dir);
}

/// What a run was computed on is written down and used again when it is resumed.
void write_down_device(const device::DeviceInfo& info, TrainSettings& settings) {
  if (settings.device == "auto") settings.device = device::name_of(info.backend);
  settings.threads = info.threads;
}

/// The user's shaders move into the run, so that it repeats whatever becomes of the files it was given.
void keep_kernel_files(const RunFolder& run, TrainSettings& settings) {
  for (std::string& line : settings.kernel) {
    const size_t equals = line.find('=');
    const std::string name = line.substr(0, equals);
    const fs::path kept = run.kernel(name);
    const fs::path given = line.substr(equals + 1);
    line = name + "=" + kept.string();
    if (fs::exists(kept) && fs::equivalent(kept, given)) continue;
    fs::create_directories(kept.parent_path());
    const std::vector<device::KernelFile> read = read_kernel_files({name + "=" + given.string()});
    write_file(kept, read.front().text);
  }
}

void remove_unfinished_files(const RunFolder& run) {
  for (const std::string& name : remove_unfinished(run.path()))
    log_info("{}: {} was not finished when its process was killed; it is removed", run.path().string(), name);
}

/// The stable checkpoint of a warmup_stable_decay run whose schedule is stretched: the decay is taken back.
std::optional<WholeCheckpoint> stable_checkpoint(const RunFolder& run, const TrainSettings& settings,
                                                 const WholeCheckpoint& newest) {
  TrainSettings before = settings;
  before.lr_scheduler_steps = newest.state.schedule_steps;
  const int64_t stable = stable_steps(before);
  const bool is_stretched = before.lr_scheduler_steps > 0 && settings.lr_scheduler_steps > before.lr_scheduler_steps;
  if (stable < 0 || !is_stretched || newest.entry.step <= stable) return std::nullopt;
  const fs::path path = run.checkpoint(stable);
  check(fs::is_directory(path),
        "{}: is not there: the schedule can be stretched only from the last checkpoint before its decay; leave "
        "--lr-scheduler-steps out to go on at the last rate",
        path.string());
  return WholeCheckpoint{{stable, path}, read_trainer_state(path)};
}

/// What the run goes on from, with the schedule that it had unless another was asked for.
std::optional<WholeCheckpoint> checkpoint_to_resume(const RunFolder& run, TrainSettings& settings) {
  std::optional<WholeCheckpoint> found = find_whole_checkpoint(run);
  if (!found) return found;
  if (std::optional<WholeCheckpoint> stable = stable_checkpoint(run, settings, *found)) {
    log_info(
        "the schedule is stretched to {} steps: going back from step {} to {}, the last checkpoint before the decay",
        settings.lr_scheduler_steps, found->entry.step, stable->entry.path.string());
    found = std::move(stable);
  }
  const std::string said = keep_schedule(settings, found->state.schedule_steps, found->entry.step);
  if (!said.empty()) log_info("{}", said);
  return found;
}

TrainResult train_on(device::Device& device, TrainSettings settings, Resume resume, const TrainHooks& hooks) {
  const RunFolder run(settings.output_dir);
  std::optional<FolderLock> lock;
  if (resume == Resume::Yes && fs::is_directory(run.path())) lock.emplace(run.path());
  PreparedData data = resume == Resume::Yes ? reopen_data(settings, run) : prepare_data(settings);
  resolve_settings(device, settings, data);
  write_down_device(device.info(), settings);
  log_info("{}", plan_text(settings, data));

  if (resume == Resume::Yes) remove_unfinished_files(run);
  const std::optional<WholeCheckpoint> latest =
      resume == Resume::Yes ? checkpoint_to_resume(run, settings) : std::nullopt;
  const PreparedData kept = data;
  Trainer trainer(device, settings, std::move(data), run);
  if (settings.ema_decay > 0)
    log_info("evaluation, samples and the checkpoints' models show the average of the weights (ema_decay {})",
             settings.ema_decay);
  if (latest) {
    trainer.resume(*latest);
    log_info("resuming from {}", latest->entry.path.string());
  } else if (resume == Resume::Yes) {
    log_info("{}: there is no checkpoint yet; starting at step 0", settings.output_dir);
  }
  run.create();
  keep_kernel_files(run, settings);
  if (!lock) lock.emplace(run.path());
  check_folder(settings, run, resume);  // again, now that nobody else can begin here
  write_file(run.config(), to_yaml(settings));
  if (latest) run.set_latest(latest->entry.step);  // it may name a damaged one, or one that the run goes back behind
  if (!fs::exists(run.tokens())) save_data(kept, run);
  return trainer.run(hooks);
}

}  // namespace

void resolve_settings(device::Device& device, TrainSettings& settings, const PreparedData& data) {
  nn::LlamaConfig& model = settings.model_config;
  model.vocab_size = data.tokenizer.vocab_size();
  model.eos_token_id = data.tokenizer.end_of_text();
  if (data.is_from_text && settings.tokenizer.empty()) settings.vocab_size = model.vocab_size;
  if (model.hidden_size == 0) {
    size_model(device.stream(), settings, data.tokens.num_tokens());
  } else {
    if (model.num_hidden_layers == 0) model.num_hidden_layers = 4;
    if (model.intermediate_size == 0) model.intermediate_size = (model.hidden_size * 8 / 3 + 31) / 32 * 32;
    if (model.num_attention_heads == 0) model.num_attention_heads = std::max<int64_t>(1, model.hidden_size / 64);
    if (model.max_position_embeddings == 0)
      model.max_position_embeddings = settings.max_length > 0 ? settings.max_length : 256;
  }
  model.complete("model_config");
  if (settings.max_length == 0) settings.max_length = model.max_position_embeddings;
  check(settings.max_length <= model.max_position_embeddings,
        "train: max_length {} is longer than the model's context of {} tokens (max_position_embeddings); shorten one "
        "or lengthen the other",
        settings.max_length, model.max_position_embeddings);
  // Text that makes no block is refused before anything is measured.
  const data::Loader loader(data.tokens,
                            {settings.max_length, settings.seed, settings.validation_split, data.validation});
  set_steps_from_minutes(device.stream(), settings);
  settings.warmup_steps = warmup_of(settings);
}

std::string plan_text(const TrainSettings& settings, const PreparedData& data) {
  const nn::LlamaConfig& model = settings.model_config;
  const int64_t step_tokens =
      settings.per_device_train_batch_size * settings.gradient_accumulation_steps * settings.max_length;
  const double epochs =
      static_cast<double>(step_tokens * settings.max_steps) / static_cast<double>(data.tokens.num_tokens());
  return fmt::format(
      "model: {:.2f} M weights ({} layers, width {}, {} heads, {} key/value heads, feed-forward {}, vocabulary {}, "
      "context {}); "
      "{} steps of {} tokens, {:.1f} times through {} tokens",
      static_cast<double>(model.num_weights()) * 1e-6, model.num_hidden_layers, model.hidden_size,
      model.num_attention_heads, model.num_key_value_heads, model.intermediate_size, model.vocab_size,
      model.max_position_embeddings, settings.max_steps, step_tokens, epochs, data.tokens.num_tokens());
}

std::optional<TrainSettings> settings_of_run(const RunFolder& run) {
  if (!fs::exists(run.config())) return std::nullopt;
  TrainSettings settings;
  apply_settings_file(settings, run.config());
  return settings;
}

TrainResult train(const TrainSettings& settings, Resume resume, const TrainHooks& hooks, const DeviceOpener& open) {
  settings.validate();
  const RunFolder run(settings.output_dir);
  check_folder(settings, run, resume);
  device::DeviceOptions options = device_options(settings);
  try {
    const std::unique_ptr<device::Device> device = open(options);
    return train_on(*device, settings, resume, hooks);
  } catch (const device::DeviceLost& error) {
    log_warning("{}; opening the device again, with smaller submissions, and going on from the last checkpoint",
                error.what());
  }
  options.batch_seconds /= 4;
  const std::unique_ptr<device::Device> device = open(options);
  const TrainSettings again = settings_of_run(run).value_or(settings);
  return train_on(*device, again, Resume::Yes, hooks);
}

}  // namespace athanor::train
