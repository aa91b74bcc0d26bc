// The training loop.
#include "train/trainer.h"

#include "base/counted.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/host.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "train/compute_peak.h"
#include "train/run_files.h"
#include "train/schedule.h"
#include "train/step_profile.h"
#include "train/step_settings.h"

#include <cmath>
#include <numbers>

namespace athanor::train {

static_assert(data::kNoTarget == kernels::kIgnoreTarget);

namespace {

GuardSettings guard_settings(const TrainSettings& settings) {
  return {settings.guard_outlier, settings.max_grad_norm, settings.guard_patience};
}

std::vector<int32_t> bytes_of_tokens(const data::Tokenizer& tokenizer, int64_t vocabulary) {
  std::vector<int32_t> bytes(static_cast<size_t>(std::max(vocabulary, tokenizer.vocab_size())), 0);
  for (uint32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (!tokenizer.is_special(id)) bytes[id] = static_cast<int32_t>(tokenizer.token_bytes(id).size());
  }
  return bytes;
}

std::vector<std::string> names_of(const nn::Parameters& parameters) {
  std::vector<std::string> names;
  for (const nn::Parameter& parameter : parameters.all()) names.push_back(parameter.spec.name);
  return names;
}

double flops_per_step(const TrainSettings& settings) {
  const int64_t tokens =
      settings.per_device_train_batch_size * settings.gradient_accumulation_steps * settings.max_length;
  return settings.model_config.training_flops_per_token(settings.max_length) * static_cast<double>(tokens);
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
      compute_peak_(measure_compute_peak(stream_, settings_.matmul_precision())),
      model_(stream_, settings_.model_config, nn::Trained::Yes, precision_of(settings_)),
      train_step_(stream_, model_, optimizer_settings(settings_), recompute_of(settings_), loss_terms(settings_),
                  settings_.ema_decay, settings_.matmul_precision()),
      writer_(run_, {model_, train_step_.optimizer(), train_step_.average()}, data_.tokenizer,
              settings_.save_in_background),
      log_(run_, settings_.logging_steps, names_of(model_.parameters()), {flops_per_step(settings_), compute_peak_}),
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
  check_choices(run_, settings_, stream_, state.choices, where);
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

TrainResult Trainer::run(const TrainHooks& hooks, std::string config) {
  config_ = std::move(config);
  TrainResult result;
  result.max_steps = settings_.max_steps;
  result.unigram_loss = unigram_loss_;
  result.was_stopped_early = settings_.patience > 0 && stale_evaluations_ >= settings_.patience;
  result.was_finished = step_ >= settings_.max_steps || result.was_stopped_early;
  if (!result.was_finished) log_.open(step_, trained_tokens_);
  StepProfile profile(settings_.profile, settings_.profile_first_step, settings_.profile_steps);
  const double start = now_seconds();

  while (step_ < settings_.max_steps && !result.was_interrupted && !result.was_stopped_early) {
    profile.before_step(stream_, step_ + 1);
    do_step(step_);
    if (const std::optional<StepReport> before = train_step_.drain()) {
      log_.measure_speed(*before);
      const Verdict verdict = judge(*before, step_);
      report(*before, step_, std::nullopt);
      if (verdict == Verdict::Trouble) {
        profile.after_step(stream_, step_ + 1);
        roll_back(guard_.state().first_bad_step - 1, hooks);
        continue;
      }
      log_.show_progress(hooks.progress, *before, step_, settings_.max_steps, val_loss_);
    }
    train_step_.apply(rate_at(step_), guard_.largest_norm(), norms_of(step_));
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
  result.mfu = log_.mfu();
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
  if (own) log_.measure_speed(*own);  // before the evaluation, which is no part of the step
  const Verdict verdict = own ? judge(*own, step_) : Verdict::Good;
  if (is_last && verdict != Verdict::Trouble && last_update_is_bad()) {
    if (own) report(*own, step_, std::nullopt);
    roll_back(step_, hooks);
    return false;
  }
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
          log_info("val_loss has not fallen for {}: the run stops at step {}; its best is {:.4f}",
                   counted(stale_evaluations_, "evaluation"), step_, *best_val_loss_);
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

bool Trainer::last_update_is_bad() {
  const int64_t still_allowed = settings_.guard_patience - guard_.state().bad_in_row;
  if (settings_.guard_patience == 0 || still_allowed <= 0) return false;
  double loss = 0;
  for (int64_t i = 0; i < still_allowed; ++i) {
    Evaluation evaluation(stream_, model_, settings_.matmul_precision());
    int64_t targets = 0;
    for (const data::Batch& batch : batches_of(step_ + i)) {
      if (batch.num_targets() > 0) evaluation.add(batch.tokens, batch.targets, rows_of(batch));
      targets += batch.num_targets();
    }
    if (targets == 0) return false;
    loss = evaluation.mean_loss();
    if (!guard_.loss_is_bad(loss)) return false;
  }
  log_warning(
      "step {}: with its weights the loss of the next batches is {:.4g}, far above the {:.4f} of the steps before",
      step_, loss, guard_.state().mean_loss.value_or(0));
  return true;
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
  const int64_t batch = step - 1 + guard_.state().skipped_batches;
  const std::string where = fmt::format("rows {} to {} of the run, {}", batch * rows, (batch + 1) * rows - 1,
                                        list_documents(loader_.documents(batch, rows)));
  const double usual_loss = guard_.state().mean_loss.value_or(0);
  warn_of_step(report, step, where, settings_.guard_outlier,
               loss_is_bad ? std::optional<double>(usual_loss) : std::nullopt);
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
        "train: step {} is {} (see the warnings above) and the run stops{}; what is good is "
        "{}: go on "
        "from there with --resume and a smaller --learning-rate, or with other data",
        from, trouble.bad_in_row > 1 ? fmt::format("one of {} bad steps in a row", trouble.bad_in_row) : "bad",
        settings_.guard_action == "stop" ? "" : " after " + counted(trouble.rollbacks, "rollback"), target);
  restart();
  if (good) resume(*good);
  GuardState state = guard_.state();
  state.rollbacks = trouble.rollbacks + 1;
  state.rate_factor = trouble.rate_factor * kFactor;
  // Data that were bad once are bad again, so what was seen since is left out.
  const int64_t skipped = from - step_;
  state.skipped_batches = trouble.skipped_batches + skipped;
  guard_.set_state(state);
  log_.open(step_, trained_tokens_);
  log_warning(
      "step {}: the run goes back to {} (step {}) and on with {:g} of the learning rate (rollback {} of at most {}); "
      "the {} taken since {} left out",
      from, target, step_, state.rate_factor, state.rollbacks, settings_.guard_rollbacks,
      counted(skipped, "batch", "batches"), skipped == 1 ? "is" : "are");
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

std::vector<data::Batch> Trainer::batches_of(int64_t step) const {
  const int64_t rows = settings_.per_device_train_batch_size;
  const int64_t all_rows = rows * settings_.gradient_accumulation_steps;
  const int64_t number = step + guard_.state().skipped_batches;
  std::vector<data::Batch> batches;
  for (int64_t micro = 0; micro < settings_.gradient_accumulation_steps; ++micro)
    batches.push_back(loader_.batch(number, all_rows, micro * rows, rows));
  return batches;
}

nn::Rows Trainer::rows_of(const data::Batch& batch) const {
  return {settings_.per_device_train_batch_size, settings_.max_length, 0, batch.first_keys};
}

TrainStep::MeasureNorms Trainer::norms_of(int64_t step) const {
  const int64_t every = settings_.log_layer_norms_steps;
  return every > 0 && (step + 1) % every == 0 ? TrainStep::MeasureNorms::Yes : TrainStep::MeasureNorms::No;
}

void Trainer::do_step(int64_t step) {
  // The number of targets of the whole step is known before its first backward pass.
  const std::vector<data::Batch> batches = batches_of(step);
  int64_t targets = 0;
  for (const data::Batch& batch : batches) targets += batch.num_targets();
  train_step_.begin(targets, settings_.seed, step);
  for (const data::Batch& batch : batches) train_step_.add(batch.tokens, batch.targets, rows_of(batch));
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
  state.settings = config_;
  state.data_hash = data_hash_;
  state.data_order = data_order();
  state.device = identity_of(device_.info());
  state.choices = choices_digest(stream_);
  if (when == Save::Now) {
    writer_.save_now(stream_, state);
  } else {
    writer_.save(stream_, state);
  }
  unproved_step_ = step_;
}

}  // namespace athanor::train
