// The training loop.
#include "train/trainer.h"

#include "base/error.h"
#include "base/host.h"
#include "train/schedule.h"
#include "train/step_profile.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <numbers>

namespace athanor::train {

namespace {

AdamwSettings adamw_of(const TrainSettings& settings) {
  return {settings.adam_beta1, settings.adam_beta2, settings.adam_epsilon, settings.weight_decay,
          settings.max_grad_norm};
}

data::LoaderOptions loader_options(const TrainSettings& settings, const PreparedData& data) {
  data::LoaderOptions options;
  options.length = settings.max_length;
  options.seed = settings.seed;
  options.validation_split = settings.validation_split;
  options.validation = data.validation;
  return options;
}

std::span<const int32_t> as_targets(const std::vector<uint32_t>& ids) {
  return {reinterpret_cast<const int32_t*>(ids.data()), ids.size()};  // ids are below 2^31
}

std::vector<int32_t> bytes_of_tokens(const data::Tokenizer& tokenizer, int64_t vocabulary) {
  std::vector<int32_t> bytes(static_cast<size_t>(std::max(vocabulary, tokenizer.vocab_size())), 0);
  for (uint32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (!tokenizer.is_special(id)) bytes[id] = static_cast<int32_t>(tokenizer.token_bytes(id).size());
  }
  return bytes;
}

std::string duration(double seconds) {
  const int64_t total = std::max<int64_t>(0, std::llround(seconds));
  if (total >= 3600) return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
  return fmt::format("{}:{:02}", total / 60, total % 60);
}

}  // namespace

std::string identity_of(const device::DeviceInfo& info) {
  return info.threads > 0 ? fmt::format("{}, {} threads", info.name, info.threads) : info.name;
}

Trainer::Trainer(device::Device& device, TrainSettings settings, PreparedData data, RunFolder run)
    : device_(device),
      stream_(device.stream()),
      settings_(std::move(settings)),
      data_(std::move(data)),
      run_(std::move(run)),
      loader_(data_.tokens, loader_options(settings_, data_)),
      data_hash_(hash_of(data_)),
      model_(stream_, settings_.model_config, nn::Trained::Yes),
      train_step_(stream_, model_, adamw_of(settings_),
                  settings_.gradient_checkpointing ? nn::Recompute::Blocks : nn::Recompute::No) {
  if (loader_.has_validation()) {
    unigram_loss_ =
        data::unigram_loss(loader_.train_stream(), loader_.validation_stream(), settings_.model_config.vocab_size);
  }
  token_bytes_ = bytes_of_tokens(data_.tokenizer, settings_.model_config.vocab_size);
  model_.parameters().initialize(stream_, settings_.seed);
}

void Trainer::resume(const std::filesystem::path& checkpoint) {
  const TrainerState state = read_trainer_state(checkpoint);
  const std::string where = checkpoint.string();
  check(state.seed == settings_.seed, "{}: was made with seed {} but the settings say {}; resume with the same seed",
        where, state.seed, settings_.seed);
  check(state.data_hash == data_hash_, "{}: was made from other tokens than the data here; resume with the same data",
        where);
  if (state.device != identity_of(device_.info())) {
    log_warning("{}: was made on {}; on {} the run goes on but not with the very same bits", where, state.device,
                identity_of(device_.info()));
  }
  load_checkpoint(stream_, checkpoint, model_, train_step_.optimizer());
  train_step_.set_applied_steps(state.applied_steps);
  step_ = state.step;
  trained_tokens_ = state.trained_tokens;
  train_loss_ = state.train_loss;
  val_loss_ = state.val_loss;
}

TrainResult Trainer::run(const TrainHooks& hooks) {
  TrainResult result;
  result.max_steps = settings_.max_steps;
  result.unigram_loss = unigram_loss_;
  result.was_finished = step_ >= settings_.max_steps;
  metrics_.emplace(run_.metrics(), step_);
  samples_.emplace(run_.samples(), step_);
  events_.emplace(run_.path(), step_);
  StepProfile profile(settings_.profile, settings_.profile_first_step, settings_.profile_steps);
  loop_start_ = last_report_time_ = now_seconds();
  loop_first_step_ = step_;

  while (step_ < settings_.max_steps && !result.was_interrupted) {
    profile.before_step(stream_, step_ + 1);
    do_step(step_);
    std::optional<StepReport> before = train_step_.finish(learning_rate_at(settings_, step_));
    profile.after_step(stream_, step_ + 1);
    if (before) {
      report(*before, step_, std::nullopt);
      show_progress(hooks, *before, step_);
    }
    step_ += 1;
    result.was_interrupted = hooks.should_stop && hooks.should_stop();
    const bool is_last = step_ == settings_.max_steps;
    const bool evaluates = loader_.has_validation() && (is_last || is_due(settings_.eval_steps));
    const bool saves = is_last || result.was_interrupted || is_due(settings_.save_steps);
    const bool samples =
        settings_.sample_tokens > 0 && (is_due(settings_.sample_steps) || (settings_.sample_steps == 0 && evaluates));
    if (!evaluates && !saves && !samples) continue;

    const std::optional<StepReport> own = train_step_.drain();
    if (own) train_loss_ = own->loss;
    std::optional<double> val_loss;
    if (evaluates) val_loss = val_loss_ = evaluate();
    if (own) report(*own, step_, val_loss);
    if (val_loss) {
      if (hooks.progress) hooks.progress("");
      log_info("step {}/{}: loss {:.4f}, val_loss {:.4f} ({:.4f} under unigram), {:.0f} tok/s", step_,
               settings_.max_steps, train_loss_, *val_loss, unigram_loss_ - *val_loss, rate_);
    }
    if (samples) write_samples(step_);
    if (saves) save(val_loss);
    last_report_time_ = now_seconds();
  }
  if (hooks.progress) hooks.progress("");
  profile.finish(stream_);
  result.step = step_;
  result.train_loss = train_loss_;
  result.val_loss = val_loss_;
  result.seconds = now_seconds() - loop_start_;
  result.tokens_per_second = rate_;
  result.device_peak_bytes = device_.memory().peak_bytes;
  result.samples = last_samples_;
  result.bits_per_byte = bits_per_byte_;
  return result;
}

bool Trainer::is_due(int64_t every) const { return every > 0 && step_ % every == 0; }

void Trainer::do_step(int64_t step) {
  const int64_t rows = settings_.per_device_train_batch_size;
  const int64_t all_rows = rows * settings_.gradient_accumulation_steps;
  const int64_t targets = all_rows * settings_.max_length;
  train_step_.begin(targets);
  for (int64_t micro = 0; micro < settings_.gradient_accumulation_steps; ++micro) {
    const data::Batch batch = loader_.batch(step, all_rows, micro * rows, rows);
    train_step_.add(batch.tokens, as_targets(batch.targets), {rows, settings_.max_length});
  }
  trained_tokens_ += targets;
}

void Trainer::report(const StepReport& report, int64_t step, std::optional<double> val_loss) {
  train_loss_ = report.loss;
  if (!report.was_applied) {
    log_warning("step {}: the gradients were not finite; the step changed nothing", step);
  }
  const double now = now_seconds();
  const double rate = static_cast<double>(report.targets) / std::max(1e-9, now - last_report_time_);
  // Over about the last ten steps; the first measured step starts it.
  rate_ = rate_ == 0 ? rate : 0.9 * rate_ + 0.1 * rate;
  last_report_time_ = now;
  if (step % settings_.logging_steps != 0 && !val_loss) return;
  nlohmann::ordered_json line;
  line["step"] = step;
  line["loss"] = report.loss;
  line["learning_rate"] = report.learning_rate;
  line["grad_norm"] = report.gradient_norm;
  line["tokens_per_second"] = std::round(rate_ * 10) / 10;
  line["trained_tokens"] = step * report.targets;
  if (val_loss) {
    line["val_loss"] = *val_loss;
    line["bits_per_byte"] = bits_per_byte_;
  }
  metrics_->append(line.dump());
  std::vector<EventFile::Scalar> scalars{{"train/loss", report.loss},
                                         {"train/grad_norm", report.gradient_norm},
                                         {"train/lr", report.learning_rate},
                                         {"train/tokens_per_second", rate_}};
  if (val_loss) {
    scalars.push_back({"val/loss", *val_loss});
    scalars.push_back({"val/bits_per_byte", bits_per_byte_});
  }
  events_->add(step, scalars);
}

void Trainer::show_progress(const TrainHooks& hooks, const StepReport& report, int64_t step) {
  if (!hooks.progress) return;
  const double elapsed = now_seconds() - loop_start_;
  const double a_step = elapsed / static_cast<double>(std::max<int64_t>(1, step - loop_first_step_));
  hooks.progress(fmt::format("step {}/{}  loss {:.4f}{}  {:.0f} tok/s  {} left", step, settings_.max_steps, report.loss,
                             val_loss_ ? fmt::format("  val_loss {:.4f}", *val_loss_) : "", rate_,
                             duration(a_step * static_cast<double>(settings_.max_steps - step))));
}

double Trainer::evaluate() {
  const int64_t rows = settings_.per_device_train_batch_size;
  const int64_t blocks = loader_.validation_blocks();
  const int64_t most = settings_.eval_batches == 0 ? blocks : std::min(blocks, settings_.eval_batches * rows);
  Evaluation evaluation(stream_, model_);
  int64_t targets = 0;
  int64_t bytes = 0;
  for (int64_t first = 0; first < most; first += rows) {
    const int64_t count = std::min(rows, most - first);
    const data::Batch batch = loader_.validation_batch(first, count);
    evaluation.add(batch.tokens, as_targets(batch.targets), {count, settings_.max_length});
    targets += static_cast<int64_t>(batch.targets.size());
    for (const uint32_t target : batch.targets) bytes += token_bytes_[target];
  }
  const double loss = evaluation.mean_loss();
  bits_per_byte_ =
      loss * static_cast<double>(targets) / std::numbers::ln2 / static_cast<double>(std::max<int64_t>(1, bytes));
  return loss;
}

void Trainer::write_samples(int64_t step) {
  const data::TokenStream& training = loader_.train_stream();
  last_samples_ = train::write_samples(stream_, model_, data_.tokenizer, settings_, training,
                                       loader_.has_validation() ? loader_.validation_stream() : training);
  for (const Sample& sample : last_samples_) samples_->append(sample.json(step));
}

void Trainer::save(std::optional<double> val_loss) {
  TrainerState state;
  state.step = step_;
  state.applied_steps = train_step_.applied_steps();
  state.trained_tokens = trained_tokens_;
  state.seed = settings_.seed;
  state.train_loss = train_loss_;
  state.val_loss = val_loss;
  state.settings = to_yaml(settings_);
  state.data_hash = data_hash_;
  state.device = identity_of(device_.info());
  save_checkpoint(stream_, run_, model_, train_step_.optimizer(), data_.tokenizer, state);
  remove_old_checkpoints(run_, settings_.save_total_limit);
}

}  // namespace athanor::train
