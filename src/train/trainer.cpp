// The training loop.
#include "train/trainer.h"

#include "base/error.h"
#include "base/fault.h"
#include "base/host.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "train/schedule.h"
#include "train/step_profile.h"
#include "train/step_settings.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <numbers>

namespace athanor::train {

static_assert(data::kNoTarget == kernels::kIgnoreTarget);

namespace {

GuardSettings guard_settings(const TrainSettings& settings) {
  return {settings.guard_outlier, settings.max_grad_norm, settings.guard_patience};
}

/// "documents 3, 9, 12 and 40 more"
std::string list_documents(const std::vector<int64_t>& documents) {
  constexpr size_t kMost = 8;
  const std::span<const int64_t> shown = std::span(documents).first(std::min(documents.size(), kMost));
  const std::string more = documents.size() > kMost ? fmt::format(" and {} more", documents.size() - kMost) : "";
  return fmt::format("document{} {}{}", documents.size() == 1 ? "" : "s", fmt::join(shown, ", "), more);
}

std::vector<int32_t> bytes_of_tokens(const data::Tokenizer& tokenizer, int64_t vocabulary) {
  std::vector<int32_t> bytes(static_cast<size_t>(std::max(vocabulary, tokenizer.vocab_size())), 0);
  for (uint32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (!tokenizer.is_special(id)) bytes[id] = static_cast<int32_t>(tokenizer.token_bytes(id).size());
  }
  return bytes;
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
      model_(stream_, settings_.model_config, nn::Trained::Yes, precision_of(settings_)),
      train_step_(stream_, model_, optimizer_settings(settings_), recompute_of(settings_), loss_terms(settings_),
                  settings_.ema_decay, settings_.matmul_precision()),
      writer_(run_, {model_, train_step_.optimizer(), train_step_.average()}, data_.tokenizer,
              settings_.save_in_background),
      log_(run_, settings_.logging_steps),
      guard_(guard_settings(settings_)) {
  if (loader_.has_validation()) {
    unigram_loss_ =
        data::unigram_loss(loader_.train_stream(), loader_.validation_stream(), settings_.model_config.vocab_size);
  }
  token_bytes_ = bytes_of_tokens(data_.tokenizer, settings_.model_config.vocab_size);
  restart();
}

void Trainer::restart() {
  model_.parameters().initialize(stream_, settings_.seed);
  train_step_.optimizer().reset(stream_);
  if (WeightAverage* average = train_step_.average()) average->restart(stream_);
  train_step_.set_applied_steps(0);
  guard_.set_state({});
  step_ = trained_tokens_ = stale_evaluations_ = 0;
  train_loss_ = 0;
  val_loss_ = best_val_loss_ = std::nullopt;
}

void Trainer::resume(const WholeCheckpoint& checkpoint) {
  const TrainerState& state = checkpoint.state;
  const std::string where = checkpoint.entry.path.string();
  check(state.seed == settings_.seed, "{}: was made with seed {} but the settings say {}; resume with the same seed",
        where, state.seed, settings_.seed);
  check(state.data_hash == data_hash_, "{}: was made from other tokens than the data here; resume with the same data",
        where);
  if (state.device != identity_of(device_.info())) {
    log_warning("{}: was made on {}; on {} the run goes on but not with the very same bits", where, state.device,
                identity_of(device_.info()));
  }
  const std::string order = data_order();
  check(state.data_order == order, "{}: took its rows as \"{}\" but the settings say \"{}\"; resume with the same",
        where, state.data_order, order);
  load_checkpoint(stream_, checkpoint.entry.path, model_, train_step_.optimizer(), train_step_.average());
  train_step_.set_applied_steps(state.applied_steps);
  step_ = state.step;
  trained_tokens_ = state.trained_tokens;
  train_loss_ = state.train_loss;
  val_loss_ = state.val_loss;
  best_val_loss_ = state.best_val_loss;
  stale_evaluations_ = state.stale_evaluations;
  guard_.set_state(state.guard);
}

TrainResult Trainer::run(const TrainHooks& hooks) {
  TrainResult result;
  result.max_steps = settings_.max_steps;
  result.unigram_loss = unigram_loss_;
  result.was_stopped_early = settings_.patience > 0 && stale_evaluations_ >= settings_.patience;
  result.was_finished = step_ >= settings_.max_steps || result.was_stopped_early;
  log_.open(step_, trained_tokens_);
  StepProfile profile(settings_.profile, settings_.profile_first_step, settings_.profile_steps);
  const double start = now_seconds();

  while (step_ < settings_.max_steps && !result.was_interrupted && !result.was_stopped_early) {
    profile.before_step(stream_, step_ + 1);
    do_step(step_);
    if (const std::optional<StepReport> before = train_step_.drain()) {
      const Verdict verdict = judge(*before, step_);
      report(*before, step_, std::nullopt);
      if (verdict == Verdict::Trouble) {
        profile.after_step(stream_, step_ + 1);
        roll_back(guard_.state().first_bad_step - 1, hooks);
        continue;
      }
      log_.show_progress(hooks.progress, *before, step_, settings_.max_steps, val_loss_);
    }
    train_step_.apply(rate_at(step_), guard_.largest_norm());
    profile.after_step(stream_, step_ + 1);
    step_ += 1;
    writer_.poll();
    remove_old_if_proved();
    result.was_interrupted = hooks.should_stop && hooks.should_stop();
    if (!finish_step(result, hooks)) result.was_interrupted = result.was_stopped_early = false;
  }
  if (hooks.progress) hooks.progress("");
  profile.finish(stream_);
  writer_.finish();
  if (unproved_step_ >= 0) remove_old();
  result.step = step_;
  result.train_loss = train_loss_;
  result.val_loss = val_loss_;
  result.seconds = now_seconds() - start;
  result.tokens_per_second = log_.tokens_per_second();
  result.device_peak_bytes = device_.memory().peak_bytes;
  result.samples = last_samples_;
  result.bits_per_byte = bits_per_byte_;
  return result;
}

bool Trainer::finish_step(TrainResult& result, const TrainHooks& hooks) {
  const bool is_last = step_ == settings_.max_steps;
  const bool evaluates = loader_.has_validation() && (is_last || is_due(settings_.eval_steps));
  bool saves = is_last || result.was_interrupted || is_due(settings_.save_steps) || step_ == stable_steps(settings_);
  const bool samples =
      settings_.sample_tokens > 0 && (is_due(settings_.sample_steps) || (settings_.sample_steps == 0 && evaluates));
  if (!evaluates && !saves && !samples) return true;

  const std::optional<StepReport> own = train_step_.drain();
  const Verdict verdict = own ? judge(*own, step_) : Verdict::Good;
  std::optional<EvaluationReport> evaluation;
  {
    const ShownAverage shown(stream_, verdict == Verdict::Trouble ? nullptr : train_step_.average());
    if (evaluates && verdict != Verdict::Trouble) evaluation = evaluate();
    if (own) report(*own, step_, evaluation);
    const bool val_loss_is_bad = evaluation && !std::isfinite(evaluation->loss);
    if (val_loss_is_bad) log_warning("step {}: the validation loss is no number", step_);
    if (verdict != Verdict::Trouble && !val_loss_is_bad) {
      std::optional<double> val_loss;
      if (evaluation) {
        val_loss = evaluation->loss;
        note_val_loss(*val_loss);
        if (hooks.progress) hooks.progress("");
        log_info("step {}/{}: loss {:.4f}, val_loss {:.4f} ({:.4f} under unigram), {:.0f} tok/s", step_,
                 settings_.max_steps, train_loss_, *val_loss, unigram_loss_ - *val_loss, log_.tokens_per_second());
        result.was_stopped_early = settings_.patience > 0 && stale_evaluations_ >= settings_.patience;
        if (result.was_stopped_early)
          log_info("val_loss has not fallen for {} evaluations: the run stops at step {}; its best is {:.4f}",
                   stale_evaluations_, step_, *best_val_loss_);
        saves = saves || (settings_.patience > 0 && stale_evaluations_ == 0) || result.was_stopped_early;
      }
      if (samples) write_samples(step_);
      // What may be ruined is no checkpoint to go back to; a run that ends here has no other choice.
      const bool is_suspicious = guard_.state().bad_in_row > 0 && !is_last && !result.was_interrupted;
      if (saves && is_suspicious) log_warning("step {}: no checkpoint, since the step was bad", step_);
      const bool goes_on = !is_last && !result.was_interrupted && !result.was_stopped_early;
      if (saves && !is_suspicious) save(val_loss, goes_on ? Save::WhileTrainingGoesOn : Save::Now);
      log_.pause();
      return true;
    }
  }
  roll_back(verdict == Verdict::Trouble ? guard_.state().first_bad_step - 1 : step_, hooks);
  return false;
}

void Trainer::note_val_loss(double val_loss) {
  val_loss_ = val_loss;
  const bool is_best = !best_val_loss_ || val_loss < *best_val_loss_;
  if (is_best) best_val_loss_ = val_loss;
  stale_evaluations_ = is_best ? 0 : stale_evaluations_ + 1;
}

double Trainer::rate_at(int64_t step) const {
  constexpr double kHuge = 1e3;
  if (fault_due("huge-rate")) return kHuge;
  return learning_rate_at(settings_, step) * guard_.state().rate_factor;
}

Verdict Trainer::judge(const StepReport& report, int64_t step) {
  const bool loss_is_bad = report.outcome != StepOutcome::NoTargets && guard_.loss_is_bad(report.loss);
  const Verdict verdict = guard_.observe(report, step);
  if (report.outcome != StepOutcome::Applied || loss_is_bad) warn_of(report, step, loss_is_bad);
  if (verdict == Verdict::Good && unproved_step_ >= 0 && step > unproved_step_) is_proved_ = true;
  return verdict;
}

void Trainer::warn_of(const StepReport& report, int64_t step, bool loss_is_bad) const {
  const int64_t rows = settings_.per_device_train_batch_size * settings_.gradient_accumulation_steps;
  const std::string where = fmt::format("rows {} to {} of the run, {}", (step - 1) * rows, step * rows - 1,
                                        list_documents(loader_.documents(step - 1, rows)));
  switch (report.outcome) {
    case StepOutcome::NoTargets:
      log_warning("step {}: no token of the batch counts for the loss; nothing was changed ({})", step, where);
      break;
    case StepOutcome::NotFinite:
      log_warning("step {}: a gradient is not finite, first in {}; the step changed nothing ({})", step,
                  report.worst_tensor, where);
      break;
    case StepOutcome::Outlier:
      log_warning(
          "step {}: the gradients' norm is {:.4g}, above {} times the usual, largest in {}; the step changed nothing "
          "({})",
          step, report.gradient_norm, settings_.guard_outlier, report.worst_tensor, where);
      break;
    case StepOutcome::Applied:
      break;
  }
  if (loss_is_bad)
    log_warning("step {}: the loss is {:.4g}, far above the {:.4f} of the steps before ({})", step, report.loss,
                guard_.state().mean_loss.value_or(0), where);
}

void Trainer::roll_back(int64_t below, const TrainHooks& hooks) {
  constexpr double kFactor = 0.5;
  if (hooks.progress) hooks.progress("");
  train_step_.drain();
  writer_.finish();
  const GuardState trouble = guard_.state();
  const int64_t from = step_;
  const std::optional<WholeCheckpoint> good = find_whole_checkpoint(run_, below);
  const std::string target = good ? good->entry.path.string() : "the beginning";
  remove_newer_checkpoints(run_, good ? good->entry.step : 0);
  unproved_step_ = -1;
  is_proved_ = false;
  const bool may_not = settings_.guard_action == "stop" || trouble.rollbacks >= settings_.guard_rollbacks;
  check(!may_not,
        "train: step {} is one of {} bad steps in a row (see the warnings above) and the run stops{}; what is good is "
        "{}: go on "
        "from there with --resume and a smaller --learning-rate, or with other data",
        from, std::max<int64_t>(1, trouble.bad_in_row),
        settings_.guard_action == "stop" ? "" : fmt::format(" after {} rollbacks", trouble.rollbacks), target);
  restart();
  if (good) resume(*good);
  GuardState state = guard_.state();
  state.rollbacks = trouble.rollbacks + 1;
  state.rate_factor = trouble.rate_factor * kFactor;
  guard_.set_state(state);
  log_.open(step_, trained_tokens_);
  log_warning(
      "step {}: the run goes back to {} (step {}) and on with {:g} of the learning rate (rollback {} of at most {})",
      from, target, step_, state.rate_factor, state.rollbacks, settings_.guard_rollbacks);
}

void Trainer::remove_old() {
  kill_point("kill-before-removal");
  remove_old_checkpoints(run_, settings_.save_total_limit, stable_steps(settings_));
  unproved_step_ = -1;
  is_proved_ = false;
}

void Trainer::remove_old_if_proved() {
  if (is_proved_ && !writer_.is_busy()) remove_old();
}

bool Trainer::is_due(int64_t every) const { return every > 0 && step_ % every == 0; }

std::string Trainer::data_order() const {
  return loader_.order_name(settings_.per_device_train_batch_size * settings_.gradient_accumulation_steps);
}

void Trainer::do_step(int64_t step) {
  const int64_t rows = settings_.per_device_train_batch_size;
  const int64_t all_rows = rows * settings_.gradient_accumulation_steps;
  // The number of targets of the whole step is known before its first backward pass.
  std::vector<data::Batch> batches;
  int64_t targets = 0;
  for (int64_t micro = 0; micro < settings_.gradient_accumulation_steps; ++micro) {
    batches.push_back(loader_.batch(step, all_rows, micro * rows, rows));
    targets += batches.back().num_targets();
  }
  train_step_.begin(targets);
  for (const data::Batch& batch : batches) {
    train_step_.add(batch.tokens, batch.targets, {rows, settings_.max_length, 0, batch.first_keys});
  }
  trained_tokens_ += targets;
}

void Trainer::report(const StepReport& report, int64_t step, const std::optional<EvaluationReport>& evaluation) {
  train_loss_ = report.loss;
  log_.write_step(report, step, evaluation);
}

EvaluationReport Trainer::evaluate() {
  const int64_t rows = settings_.per_device_train_batch_size;
  const int64_t blocks = loader_.validation_blocks();
  const int64_t most = settings_.eval_batches == 0 ? blocks : std::min(blocks, settings_.eval_batches * rows);
  Evaluation evaluation(stream_, model_, settings_.matmul_precision());
  int64_t targets = 0;
  int64_t bytes = 0;
  for (int64_t first = 0; first < most; first += rows) {
    const int64_t count = std::min(rows, most - first);
    const data::Batch batch = loader_.validation_batch(first, count);
    evaluation.add(batch.tokens, batch.targets, {count, settings_.max_length, 0, batch.first_keys});
    targets += batch.num_targets();
    for (const int32_t target : batch.targets) {
      if (target != data::kNoTarget) bytes += token_bytes_[static_cast<size_t>(target)];
    }
  }
  const double loss = evaluation.mean_loss();
  bits_per_byte_ =
      loss * static_cast<double>(targets) / std::numbers::ln2 / static_cast<double>(std::max<int64_t>(1, bytes));
  return {loss, bits_per_byte_};
}

void Trainer::write_samples(int64_t step) {
  const data::TokenStream& training = loader_.train_stream();
  last_samples_ = train::write_samples(stream_, model_, data_.tokenizer, settings_, training,
                                       loader_.has_validation() ? loader_.validation_stream() : training);
  log_.write_samples(last_samples_, step);
}

void Trainer::save(std::optional<double> val_loss, Save when) {
  writer_.finish();
  remove_old_if_proved();
  TrainerState state;
  state.step = step_;
  state.applied_steps = train_step_.applied_steps();
  state.trained_tokens = trained_tokens_;
  state.seed = settings_.seed;
  state.train_loss = train_loss_;
  state.val_loss = val_loss;
  state.best_val_loss = best_val_loss_;
  state.stale_evaluations = stale_evaluations_;
  state.schedule_steps = schedule_steps(settings_);
  state.ema_decay = settings_.ema_decay;
  state.guard = guard_.state();
  state.settings = to_yaml(settings_);
  state.data_hash = data_hash_;
  state.data_order = data_order();
  state.device = identity_of(device_.info());
  if (when == Save::Now) {
    writer_.save_now(stream_, state);
  } else {
    writer_.save(stream_, state);
  }
  unproved_step_ = step_;
}

}  // namespace athanor::train
