// Recording a step and reading its report one step late.
#include "train/train_step.h"

#include "kernels/cross_entropy/cross_entropy.h"

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

TrainStep::TrainStep(device::Stream& stream, nn::Llama& model, const AdamwSettings& settings, nn::Recompute recompute,
                     kernels::MatMulPrecision precision)
    : stream_(stream),
      model_(model),
      recompute_(recompute),
      precision_(precision),
      optimizer_(stream, model.parameters(), settings),
      loss_sum_(stream.device().allocate(4, "loss")) {}

void TrainStep::begin(int64_t targets) {
  targets_ = targets;
  model_.parameters().clear_gradients();
  stream_.fill_zero(loss_sum_);
}

void TrainStep::add(std::span<const uint32_t> ids, std::span<const int32_t> targets, const nn::Rows& rows) {
  // A step without targets has loss 0 and gradient 0.
  const float scale = targets_ == 0 ? 0.0F : static_cast<float>(1.0 / static_cast<double>(targets_));
  tensor::Tape tape;
  model_.loss({stream_, &tape, precision_}, ids, targets, rows, scale, loss_sum_, recompute_);
  tape.run_backward(stream_);
}

std::optional<StepReport> TrainStep::finish(double learning_rate) {
  model_.parameters().fill_missing_gradients(stream_);
  optimizer_.measure(stream_);
  stream_.submit();
  // Adam's t counts applied steps, so the flag of the step before must be known by now; it is, long since.
  std::optional<StepReport> before = drain();
  optimizer_.update(stream_, learning_rate, applied_steps_ + 1);
  model_.parameters().weights_changed();
  Pending pending;
  pending.loss = stream_.read_later(loss_sum_);
  pending.stats = stream_.read_later(optimizer_.stats());
  pending.report.learning_rate = learning_rate;
  pending.report.targets = targets_;
  pending_ = std::move(pending);
  stream_.submit();
  return before;
}

std::optional<StepReport> TrainStep::drain() {
  if (!pending_) return std::nullopt;
  Pending pending = std::move(*pending_);
  pending_.reset();
  const GradientStats stats = read_back<GradientStats>(*pending.stats);
  StepReport report = pending.report;
  report.loss = report.targets == 0 ? 0 : read_back<float>(*pending.loss) / static_cast<double>(report.targets);
  report.gradient_norm = stats.norm;
  report.was_applied = stats.not_finite == 0;
  if (report.was_applied) applied_steps_ += 1;
  return report;
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
