// One optimizer step after the other on a device: forward, backward, accumulation, clipping, update. The host learns the loss and the
// gradients' norm of a step while the next one is being computed: nothing waits.
#pragma once

#include "kernels/cross_entropy/cross_entropy.h"
#include "nn/llama.h"
#include "train/optimizer.h"
#include "train/tensor_norms.h"
#include "train/weight_average.h"

#include <memory>
#include <optional>
#include <span>
#include <string>

namespace athanor::train {

/// Why a step changed the weights or did not.
enum class StepOutcome { Applied, NotFinite, Outlier, NoTargets };

/// What a finished step reports.
struct StepReport {
  double loss = 0;                             // mean over the step's targets, nats
  double gradient_norm = 0;                    // before clipping
  StepOutcome outcome = StepOutcome::Applied;  // else nothing was changed
  std::string worst_tensor;  // of a refused step: the first that is not finite, else the one with the largest norm
  double learning_rate = 0;
  int64_t targets = 0;
  std::vector<TensorNorms> tensor_norms{};  // in the order of parameters.all(); empty where they were not asked for
};

class TrainStep {
 public:
  /// The model must outlive it. `terms` go beyond the plain cross-entropy of the loss; ema_decay 0: no average of the weights.
  TrainStep(device::Stream& stream, nn::Llama& model, const OptimizerSettings& settings, nn::Recompute recompute,
            const kernels::CrossEntropyTerms& terms = {}, double ema_decay = 0,
            kernels::MatMulPrecision precision = kernels::MatMulPrecision::Highest);

  /// Begins a step of `targets` counted tokens over all its micro-batches. step: from 0; with seed, what the masks of dropout follow from.
  void begin(int64_t targets, uint64_t seed = 0, int64_t step = 0);
  /// Forward and backward of one micro-batch; one without a target adds nothing and is not computed. rows.dropout is filled in here.
  void add(std::span<const uint32_t> ids, std::span<const int32_t> targets, nn::Rows rows);
  /// Waits for the last finished step and gives its report, if it was not given yet. Between a step's add() and apply() it gives the
  /// report of the step before, while the device computes.
  std::optional<StepReport> drain();
  /// Records the update and hands the step to the device; drain() must have been called since the last one. A norm of the gradients
  /// above largest_norm is refused; 0 takes any that is finite. MeasureNorms::Yes: the report will have the norms of each tensor; the first
  /// such step makes buffers, as large together as the weights. After it the gradients' values are no more.
  enum class MeasureNorms { No, Yes };
  void apply(double learning_rate, double largest_norm = 0, MeasureNorms norms = MeasureNorms::No);
  /// drain(), then apply().
  std::optional<StepReport> finish(double learning_rate);

  /// Steps that changed the weights; exact after drain().
  int64_t applied_steps() const { return applied_steps_; }
  /// Adam's t of a run that is resumed.
  void set_applied_steps(int64_t steps) { applied_steps_ = steps; }
  Optimizer& optimizer() { return *optimizer_; }
  const Optimizer& optimizer() const { return *optimizer_; }
  /// nullptr when there is none.
  WeightAverage* average() { return average_ ? &*average_ : nullptr; }
  const WeightAverage* average() const { return average_ ? &*average_ : nullptr; }

 private:
  struct Pending {
    std::unique_ptr<device::Readback> loss;
    std::unique_ptr<device::Readback> stats;
    std::unique_ptr<device::Readback> norms;
    StepReport report;
  };

  device::Stream& stream_;
  nn::Llama& model_;
  nn::Recompute recompute_;
  kernels::CrossEntropyTerms terms_;
  kernels::MatMulPrecision precision_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<WeightAverage> average_;
  std::optional<TensorNormMeter> norm_meter_;  // once it was asked for
  device::Buffer loss_sum_;
  int64_t targets_ = 0;
  kernels::DropoutKey dropout_;  // of the next micro-batch
  int64_t applied_steps_ = 0;
  std::optional<Pending> pending_;

  std::string worst_tensor() const;
  /// The fault "infinite-gradient" of the tests.
  void spoil_gradient_if_asked();
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
