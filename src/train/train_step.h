// One optimizer step after the other on a device: forward, backward, accumulation, clipping, update. The host learns the loss and the
// gradients' norm of a step while the next one is being computed: nothing waits.
#pragma once

#include "nn/llama.h"
#include "train/adamw.h"

#include <memory>
#include <optional>
#include <span>

namespace athanor::train {

/// What a finished step reports.
struct StepReport {
  double loss = 0;           // mean over the step's targets, nats
  double gradient_norm = 0;  // before clipping
  bool was_applied = true;   // false: the gradients were not finite, nothing was changed
  double learning_rate = 0;
  int64_t targets = 0;
};

class TrainStep {
 public:
  /// The model must outlive it.
  TrainStep(device::Stream& stream, nn::Llama& model, const AdamwSettings& settings, nn::Recompute recompute,
            kernels::MatMulPrecision precision = kernels::MatMulPrecision::Highest);

  /// Begins a step of `targets` counted tokens over all its micro-batches.
  void begin(int64_t targets);
  /// Forward and backward of one micro-batch.
  void add(std::span<const uint32_t> ids, std::span<const int32_t> targets, const nn::Rows& rows);
  /// Records the update and hands the step to the device. Gives the report of the step before, if there was one.
  std::optional<StepReport> finish(double learning_rate);
  /// Waits for the last finished step and gives its report, if it was not given yet.
  std::optional<StepReport> drain();

  /// Steps that changed the weights; exact after drain().
  int64_t applied_steps() const { return applied_steps_; }
  /// Adam's t of a run that is resumed.
  void set_applied_steps(int64_t steps) { applied_steps_ = steps; }
  Adamw& optimizer() { return optimizer_; }
  const Adamw& optimizer() const { return optimizer_; }

 private:
  struct Pending {
    std::unique_ptr<device::Readback> loss;
    std::unique_ptr<device::Readback> stats;
    StepReport report;
  };

  device::Stream& stream_;
  nn::Llama& model_;
  nn::Recompute recompute_;
  kernels::MatMulPrecision precision_;
  Adamw optimizer_;
  device::Buffer loss_sum_;
  int64_t targets_ = 0;
  int64_t applied_steps_ = 0;
  std::optional<Pending> pending_;
};

/// Number of targets that count.
int64_t count_targets(std::span<const int32_t> targets);

/// Mean loss in nats of rows that are only read, over several micro-batches.
class Evaluation {
 public:
  Evaluation(device::Stream& stream, const nn::Llama& model,
             kernels::MatMulPrecision precision = kernels::MatMulPrecision::Highest);
  void add(std::span<const uint32_t> ids, std::span<const int32_t> targets, const nn::Rows& rows);
  /// Waits. Throws Error when no target was counted.
  double mean_loss();

 private:
  device::Stream& stream_;
  const nn::Llama& model_;
  kernels::MatMulPrecision precision_;
  device::Buffer loss_sum_;
  double total_ = 0;  // of micro-batches already read: their sum in f32 would lose digits on long texts
  int64_t unread_ = 0;
  int64_t targets_ = 0;

  void read();
};

}  // namespace athanor::train
