// Recording a step and reading its report one step late.
#include "train/train_step.h"

#include "base/fault.h"
#include "kernels/cross_entropy/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace athanor::train {

namespace {

template <typename T>
T read_back(device::Readback& readback) {
  T value{};
  readback.wait(std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

}  // namespace

int64_t count_targets(std::span<const int32_t> targets) {
  return static_cast<int64_t>(targets.size()) - std::count(targets.begin(), targets.end(), kernels::kIgnoreTarget);
}

TrainStep::TrainStep(device::Stream& stream, nn::Llama& model, const OptimizerSettings& settings,
                     nn::Recompute recompute, const kernels::CrossEntropyTerms& terms, double ema_decay,
                     kernels::MatMulPrecision precision)
    : stream_(stream),
      model_(model),
      recompute_(recompute),
      terms_(terms),
      precision_(precision),
      optimizer_(make_optimizer(stream, model.parameters(), settings)),
      loss_sum_(stream.device().allocate(4, "loss")) {
  if (ema_decay > 0) average_.emplace(stream, model.parameters(), ema_decay);
}

void TrainStep::begin(int64_t targets, uint64_t seed, int64_t step) {
  targets_ = targets;
  dropout_ = {seed, step};
  model_.parameters().clear_gradients();
  stream_.fill_zero(loss_sum_);
}

void TrainStep::add(std::span<const uint32_t> ids, std::span<const int32_t> targets, nn::Rows rows) {
  rows.dropout = dropout_;
  dropout_.first_row += rows.batch * rows.length;
  if (count_targets(targets) == 0) return;
  check(targets_ > 0, "train: a micro-batch with targets in a step that was begun with none; count them all first");
  const float scale = static_cast<float>(1.0 / static_cast<double>(targets_));
  tensor::Tape tape;
  model_.loss({stream_, &tape, precision_}, ids, targets, rows, scale, loss_sum_, recompute_, terms_);
  kill_point("kill-after-forward");
  tape.run_backward(stream_);
  kill_point("kill-after-backward");
}

std::optional<StepReport> TrainStep::finish(double learning_rate) {
  std::optional<StepReport> before = drain();
  apply(learning_rate);
  return before;
}

void TrainStep::apply(double learning_rate, double largest_norm, MeasureNorms norms) {
  Pending pending;
  pending.report.learning_rate = learning_rate;
  pending.report.targets = targets_;
  if (targets_ == 0) {
    // Momentum and weight decay would move the weights though the gradients are zero.
    pending.report.outcome = StepOutcome::NoTargets;
    pending_ = std::move(pending);
    return;
  }
  model_.parameters().fill_missing_gradients(stream_);
  spoil_gradient_if_asked();
  optimizer_->measure(stream_, largest_norm);
  const bool measures = norms == MeasureNorms::Yes;
  if (measures && !norm_meter_) norm_meter_.emplace(stream_, model_.parameters());
  if (measures) norm_meter_->before_update(stream_);
  // Adam's t counts applied steps, so the flag of the step before must be known by now; drain() gave it.
  optimizer_->update(stream_, learning_rate, applied_steps_ + 1);
  model_.parameters().weights_changed();
  if (average_) average_->update(stream_, optimizer_->stats(), applied_steps_ + 1);
  if (measures) pending.norms = norm_meter_->after_update(stream_, optimizer_->meter());
  pending.loss = stream_.read_later(loss_sum_);
  pending.stats = stream_.read_later(optimizer_->stats());
  pending_ = std::move(pending);
  stream_.submit();
  kill_point("kill-after-update");
}

void TrainStep::spoil_gradient_if_asked() {
  if (!fault_due("infinite-gradient")) return;
  const std::vector<nn::Parameter>& all = model_.parameters().all();
  const float infinity = std::numeric_limits<float>::infinity();
  stream_.upload(all[all.size() / 2].values.gradient().slice(0, 4), std::as_bytes(std::span(&infinity, 1)));
}

std::optional<StepReport> TrainStep::drain() {
  // What was recorded since is under way while the host waits for the step before.
  stream_.submit();
  if (!pending_) return std::nullopt;
  Pending pending = std::move(*pending_);
  pending_.reset();
  StepReport report = pending.report;
  if (report.outcome == StepOutcome::NoTargets) return report;
  const GradientStats stats = read_back<GradientStats>(*pending.stats);
  report.loss = read_back<float>(*pending.loss) / static_cast<double>(report.targets);
  report.gradient_norm = stats.norm;
  if (pending.norms) report.tensor_norms = norm_meter_->read(*pending.norms);
  if (stats.is_refused == 0) {
    applied_steps_ += 1;
  } else {
    report.outcome = stats.is_outlier != 0 ? StepOutcome::Outlier : StepOutcome::NotFinite;
    report.worst_tensor = worst_tensor();
  }
  return report;
}

std::string TrainStep::worst_tensor() const {
  const std::vector<double> norms = optimizer_->meter().tensor_norms(stream_);
  size_t worst = 0;
  for (size_t i = 0; i < norms.size(); ++i) {
    if (!std::isfinite(norms[i])) {
      worst = i;
      break;
    }
    if (norms[i] > norms[worst]) worst = i;
  }
  return model_.parameters().all()[worst].spec.name;
}

Evaluation::Evaluation(device::Stream& stream, const nn::Llama& model, kernels::MatMulPrecision precision)
    : stream_(stream), model_(model), precision_(precision), loss_sum_(stream.device().allocate(4, "validation loss")) {
  stream_.fill_zero(loss_sum_);
}

void Evaluation::add(std::span<const uint32_t> ids, std::span<const int32_t> targets, const nn::Rows& rows) {
  constexpr int64_t kMostUnread =
      16;  // micro-batches whose sum is still exact enough in f32, and that may be in flight
  model_.loss({stream_, nullptr, precision_}, ids, targets, rows, 0, loss_sum_);
  targets_ += count_targets(targets);
  if (++unread_ == kMostUnread) read();
}

void Evaluation::read() {
  total_ += tensor::to_values(stream_, loss_sum_).front();
  stream_.fill_zero(loss_sum_);
  unread_ = 0;
}

double Evaluation::mean_loss() {
  check(targets_ > 0, "evaluation: no target was counted; pass text of at least one block");
  if (unread_ > 0) read();
  return total_ / static_cast<double>(targets_);
}

}  // namespace athanor::train
