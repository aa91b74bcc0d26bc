// From settings to a run.
#include "train/session.h"

#include "base/atomic_file.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/folder_lock.h"
#include "device/device_lost.h"
#include "train/batch_size.h"
#include "train/kernel_files.h"
#include "train/memory_plan.h"
#include "train/run_files.h"
#include "train/schedule.h"
#include "train/setting_error.h"
#include "train/sizing.h"
#include "train/step_profile.h"

namespace athanor::train {

namespace fs = std::filesystem;

namespace {

device::DeviceOptions device_options(const TrainSettings& settings) {
  device::DeviceOptions options;
  options.name = settings.device;
  options.threads = static_cast<int>(settings.threads);
  options.kernel_files = read_kernel_files(settings.kernel);
  options.rounds_factors = settings.matmul_precision() != kernels::MatMulPrecision::Highest;
  return options;
}

void check_folder(const TrainSettings& settings, const RunFolder& run, Resume resume) {
  const std::string path = run.path().string();
  check(!fs::exists(run.path()) || fs::is_directory(run.path()), "{}: is a file; choose another folder with -o", path);
  check(resume == Resume::Yes || !run.holds_run(),
        "{}: holds a run already; go on with --resume, or choose another folder with -o", settings.output_dir);
  if (resume == Resume::Yes) return;
  // The files of a run do not belong among the user's texts; a run beside or below them is left out of the text.
  std::error_code none;
  const std::string folder = (fs::weakly_canonical(run.path(), none) / "").string();
  for (const std::string& data : settings.data) {
    check(!(fs::weakly_canonical(data, none) / "").string().starts_with(folder),
          "{}: {} is what the run would be trained on; choose another folder with -o", path, data);
  }
}

/// A trace is never written over a file. Of a run that goes on it may be there from the first part, and is left as it is.
void check_profile(TrainSettings& settings, Resume resume) {
  std::error_code none;
  if (settings.profile.empty()) return;
  if (resume == Resume::No) return StepProfile::check_is_new(settings.profile);
  if (!fs::exists(settings.profile, none)) return;
  log_debug("{}: is there already and not written again", settings.profile);
  settings.profile.clear();
}

/// What a run was computed on is written down and used again when it is resumed.
void write_down_device(const device::DeviceInfo& info, TrainSettings& settings) {
  if (settings.device == "auto") settings.device = device::name_of(info.backend);
  settings.threads = info.threads;
}

/// A run folder that is being begun, held against others. Unless it is kept, what was made for it goes again.
class RunDraft {
 public:
  explicit RunDraft(const RunFolder& run) : run_(run) {
    std::error_code ignored;
    for (fs::path path = fs::absolute(run.path()).lexically_normal();
         !fs::exists(path, ignored) && path.has_relative_path(); path = path.parent_path()) {
      if (path.has_filename()) made_.push_back(path);
    }
    try {
      run.create();
      lock_.emplace(run.path());
    } catch (...) {
      remove_folders();
      throw;
    }
    had_tokens_ = fs::exists(run.tokens());
    had_validation_ = fs::exists(run.validation_tokens());
  }
  RunDraft(const RunDraft&) = delete;
  RunDraft& operator=(const RunDraft&) = delete;
  ~RunDraft() {
    if (is_kept_) return;
    std::error_code ignored;
    if (!had_tokens_) fs::remove(run_.tokens(), ignored);
    if (!had_validation_) fs::remove(run_.validation_tokens(), ignored);
    lock_.reset();
    remove_folders();
  }

  void keep() { is_kept_ = true; }

 private:
  void remove_folders() const {
    std::error_code ignored;  // a folder that is not empty stays
    for (const fs::path& path : made_) fs::remove(path, ignored);
  }

  RunFolder run_;
  std::vector<fs::path> made_;  // innermost first
  std::optional<FolderLock> lock_;
  bool had_tokens_ = false;
  bool had_validation_ = false;
  bool is_kept_ = false;
};

void remove_unfinished_files(const RunFolder& run) {
  for (const std::string& name : remove_unfinished(run.path()))
    log_debug("{}: {} was not finished when its process was ended; it is removed", run.path().string(), name);
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
  check(settings.max_steps >= found->entry.step,
        "{}: the run has {} already, more than --max-steps {}; pass more, or generate from an earlier checkpoint",
        run.path().string(), counted(found->entry.step, "step"), settings.max_steps);
  const std::string said = keep_schedule(settings, found->state.schedule_steps, found->entry.step);
  if (!said.empty()) log_info("{}", said);
  return found;
}

TrainResult train_on(std::unique_ptr<device::Device> opened, TrainSettings settings, Resume resume,
                     const TrainHooks& hooks, const DeviceOpener& open, const StepMeasure& measure) {
  const RunFolder run(settings.output_dir);
  RunDraft draft(run);
  check_folder(settings, run, resume);  // again, now that nobody else can begin here
  const bool has_begun = resume == Resume::Yes && fs::exists(run.config());
  std::optional<ChoiceFile> choices = choices_of_run(run, settings, has_begun);
  PreparedData data = resume == Resume::Yes ? reopen_data(settings, run) : prepare_data(settings, run);
  if (settings.device == "auto") opened = choose_device(std::move(opened), settings, data, open, measure);
  device::Device& device = *opened;
  choices = use_choices(device, std::move(choices));
  resolve_settings(device, settings, data);
  write_down_device(device.info(), settings);
  log_info("{}", plan_text(settings, data));

  if (resume == Resume::Yes) remove_unfinished_files(run);
  const std::optional<WholeCheckpoint> latest =
      resume == Resume::Yes ? checkpoint_to_resume(run, settings) : std::nullopt;
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
  keep_choices(run, settings, choices, has_begun);
  draft.keep();
  keep_kernel_files(run, settings);
  const std::string config = config_of_run(run, settings);
  write_file(run.config(), config);
  if (latest) run.set_latest(latest->entry.step);  // it may name a damaged one, or one that the run goes back behind
  return trainer.run(hooks, config);
}

}  // namespace

void complete_model(TrainSettings& settings, const data::Tokenizer& tokenizer) {
  nn::LlamaConfig& model = settings.model_config;
  model.vocab_size = tokenizer.vocab_size();
  model.eos_token_id = tokenizer.end_of_text();
  if (model.num_hidden_layers == 0) model.num_hidden_layers = 4;
  if (model.intermediate_size == 0) model.intermediate_size = (model.hidden_size * 8 / 3 + 31) / 32 * 32;
  if (model.num_attention_heads == 0) model.num_attention_heads = std::max<int64_t>(1, model.hidden_size / 64);
  if (model.max_position_embeddings == 0) {
    model.max_position_embeddings = settings.max_length > 0 ? settings.max_length : 256;
  }
  model.complete("model_config");
}

void size_open_model(device::Device& device, TrainSettings& settings, const PreparedData& data) {
  settings.model_config.vocab_size = data.tokenizer.vocab_size();
  if (settings.model_config.hidden_size == 0) size_model(device.stream(), settings, data.tokens.num_tokens());
}

void resolve_shape(device::Device& device, TrainSettings& settings, const PreparedData& data, MemoryCheck memory) {
  nn::LlamaConfig& model = settings.model_config;
  size_open_model(device, settings, data);
  if (data.is_from_text && settings.tokenizer.empty()) settings.vocab_size = model.vocab_size;
  complete_model(settings, data.tokenizer);
  if (settings.max_length == 0) settings.max_length = model.max_position_embeddings;
  check_setting(settings.max_length <= model.max_position_embeddings,
                "max_length {} is longer than the model's context of {} tokens (max_position_embeddings); shorten one "
                "or lengthen the other",
                settings.max_length, model.max_position_embeddings);
  // Text that makes no block is refused before anything is measured.
  const data::Loader loader(data.tokens, loader_options(settings, data));
  pick_batch(device, settings, loader.validation_blocks());
  // So is what does not fit the device, with what would.
  if (memory == MemoryCheck::Yes) check_memory(device, settings, loader.validation_blocks());
}

void resolve_settings(device::Device& device, TrainSettings& settings, const PreparedData& data, MemoryCheck memory) {
  resolve_shape(device, settings, data, memory);
  set_steps_from_minutes(device.stream(), settings);
  settings.warmup_steps = warmup_of(settings);
}

std::string plan_text(const TrainSettings& settings, const PreparedData& data) {
  const nn::LlamaConfig& model = settings.model_config;
  const int64_t step_tokens =
      settings.per_device_train_batch_size * settings.gradient_accumulation_steps * settings.max_length;
  const data::Loader loader(data.tokens, loader_options(settings, data));
  std::string epochs;
  for (const double times : loader.epochs_of(step_tokens * settings.max_steps / settings.max_length)) {
    epochs += fmt::format("{}{:.1f}", epochs.empty() ? "" : ", ", times);
  }
  return fmt::format(
      "model: {:.2f} M weights ({}, width {}, {}, {}, feed-forward {}, vocabulary {}, "
      "context {}); "
      "{} of {}, {} times through {}",
      static_cast<double>(model.num_weights()) * 1e-6, counted(model.num_hidden_layers, "layer"), model.hidden_size,
      counted(model.num_attention_heads, "head"), counted(model.num_key_value_heads, "key/value head"),
      model.intermediate_size, model.vocab_size, model.max_position_embeddings, counted(settings.max_steps, "step"),
      counted(step_tokens, "token"), epochs, counted(loader.train_tokens(), "token"));
}

TrainResult train(const TrainSettings& asked, Resume resume, const TrainHooks& hooks, const DeviceOpener& open,
                  const StepMeasure& measure) {
  asked.validate();
  TrainSettings settings = asked;
  check_profile(settings, resume);
  const RunFolder run(settings.output_dir);
  check_folder(settings, run, resume);
  device::DeviceOptions options = device_options(settings);
  try {
    return train_on(open(options), settings, resume, hooks, open, measure);
  } catch (const device::DeviceLost& error) {
    log_warning("{}; opening the device again, with smaller submissions, and going on from the last checkpoint",
                error.what());
  }
  options.batch_seconds /= 4;
  const TrainSettings again = settings_of_run(run).value_or(settings);
  options.name = again.device;
  return train_on(open(options), again, Resume::Yes, hooks, open, measure);
}

}  // namespace athanor::train
