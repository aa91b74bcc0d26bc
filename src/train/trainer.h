// The training loop: batches, steps, evaluation, samples, checkpoints, log. A run is decided by its settings, tokens and seed; what
// happens after step n is a function of the checkpoint at n alone.
#pragma once

#include "base/log.h"
#include "train/checkpoint_writer.h"
#include "train/guard.h"
#include "train/prepare.h"
#include "train/run_log.h"
#include "train/samples.h"
#include "train/settings.h"
#include "train/train_step.h"

#include <functional>
#include <optional>
#include <string>

namespace athanor::train {

struct TrainResult {
  int64_t step = 0;
  int64_t max_steps = 0;
  bool was_interrupted = false;    // Ctrl-C: a checkpoint was saved
  bool was_finished = false;       // a resumed run had nothing left to do
  bool was_stopped_early = false;  // val_loss did not fall for `patience` evaluations
  double train_loss = 0;
  std::optional<double> val_loss;
  double unigram_loss = 0;  // of the validation tokens under the training tokens' counts
  double seconds = 0;       // of this call's loop
  double tokens_per_second = 0;
  int64_t device_peak_bytes = 0;  // most that the device layer held
  std::vector<Sample> samples;    // the last ones written
  double bits_per_byte = 0;       // of the last evaluation
  double mfu = 0;                 // share of the device's compute peak (train/compute_peak.h), over the last steps
};

struct TrainHooks {
  ProgressSink progress;              // may be empty
  std::function<bool()> should_stop;  // asked after every step; may be empty
};

class Trainer {
 public:
  /// settings are resolved: model, steps, lengths and device are known. Throws Error when the data makes no block.
  Trainer(device::Device& device, TrainSettings settings, PreparedData data, RunFolder run);

  /// Continues from a checkpoint of this run. Throws Error when it is of another model, optimizer, seed or data.
  void resume(const WholeCheckpoint& checkpoint);

  /// config: the text of config.yaml, which checkpoints record.
  TrainResult run(const TrainHooks& hooks, std::string config);

 private:
  void do_step(int64_t step);
  /// The batches of a step, micro-batch by micro-batch.
  std::vector<data::Batch> batches_of(int64_t step) const;
  nn::Rows rows_of(const data::Batch& batch) const;
  TrainStep::MeasureNorms norms_of(int64_t step) const;
  std::string data_order() const;
  double rate_at(int64_t step) const;
  Verdict judge(const StepReport& report, int64_t step);
  void warn_of(const StepReport& report, int64_t step, bool loss_is_bad) const;
  /// What the step after the last one would have shown: with guard_patience, true when so many batches in a row have a bad loss.
  bool last_update_is_bad();
  /// To the newest whole checkpoint of a step below `below`, or to the beginning, with half the rate and the batches that come next; or throws
  /// the Error that ends the run.
  void roll_back(int64_t below, const TrainHooks& hooks);
  void restart();
  /// Runs validation, samples and checkpoint as they are due after step_ steps; false when the run must be rolled back.
  bool finish_step(TrainResult& result, const TrainHooks& hooks);
  void report(const StepReport& report, int64_t step, const std::optional<EvaluationReport>& evaluation);
  void note_val_loss(double val_loss);
  void remove_old();
  /// Once the newest checkpoint is written and a later step was good.
  void remove_old_if_proved();
  EvaluationReport evaluate();
  void write_samples(int64_t step);
  enum class Save { WhileTrainingGoesOn, Now };
  void save(std::optional<double> val_loss, Save when);
  bool is_due(int64_t every) const;

  device::Device& device_;
  device::Stream& stream_;
  TrainSettings settings_;
  PreparedData data_;
  RunFolder run_;
  std::string config_;
  data::Loader loader_;
  std::string data_hash_;
  double unigram_loss_ = 0;
  double compute_peak_;  // measured before the model is there, since that takes memory of its own
  nn::Llama model_;
  TrainStep train_step_;
  CheckpointWriter writer_;
  RunLog log_;
  std::vector<int32_t> token_bytes_;  // of each id; special ones have none

  int64_t step_ = 0;            // completed
  int64_t trained_tokens_ = 0;  // of steps that were begun
  double train_loss_ = 0;
  std::optional<double> val_loss_;  // the last one
  std::optional<double> best_val_loss_;
  int64_t stale_evaluations_ = 0;
  Guard guard_;
  // The newest checkpoint until older ones were removed, and whether a later step has shown that it is good: before, none is. -1: none.
  int64_t unproved_step_ = -1;
  bool is_proved_ = false;
  double bits_per_byte_ = 0;  // of the last evaluation
  std::vector<Sample> last_samples_;
};

/// Name and threads of a device, as a checkpoint records it.
std::string identity_of(const device::DeviceInfo& info);

}  // namespace athanor::train
