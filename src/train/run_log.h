// What a run tells of its steps while it goes on: metrics.jsonl, samples.jsonl, TensorBoard events and the progress line, with the speed
// that all of them show.
#pragma once

#include "base/log.h"
#include "train/event_file.h"
#include "train/run_folder.h"
#include "train/samples.h"
#include "train/train_step.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace athanor::train {

/// What a run's speed is compared with.
struct ComputeShare {
  double flops_per_step = 0;  // of the model: 6 a weight and token, and attention
  double compute_peak = 0;    // FLOP/s of the device; 0: not measured
};

/// What an evaluation found.
struct EvaluationReport {
  double loss = 0;           // mean, nats
  double bits_per_byte = 0;  // of the same tokens
};

/// "documents 3, 9, 12 and 40 more"
std::string list_documents(const std::vector<int64_t>& documents);

/// Warns of a bad step: why it was refused, and that its loss is bad where usual_loss is given. where: its rows and documents. outlier: of
/// the guard, times the median norm.
void warn_of_step(const StepReport& report, int64_t step, const std::string& where, double outlier,
                  std::optional<double> usual_loss);

class RunLog {
 public:
  /// A line of metrics.jsonl every `logging_steps`. tensor_names: as reports have their norms.
  RunLog(RunFolder run, int64_t logging_steps, std::vector<std::string> tensor_names, const ComputeShare& share)
      : run_(std::move(run)), logging_steps_(logging_steps), tensor_names_(std::move(tensor_names)), share_(share) {}

  /// Opens the files for a run that goes on behind `step`, where it had seen `trained_tokens` targets: later lines are dropped. The speed is
  /// measured anew.
  void open(int64_t step, int64_t trained_tokens);

  /// The report of a step has come: before anything else is done with it.
  void measure_speed(const StepReport& report);
  /// Step number `step` is done. The line is written where it is due, and always with an evaluation or norms of tensors.
  void write_step(const StepReport& report, int64_t step, const std::optional<EvaluationReport>& evaluation);
  void write_samples(const std::vector<Sample>& samples, int64_t step);
  /// What was done since the last step is not training; it does not count for the speed.
  void pause();
  /// One line for the terminal; last_val_loss as last measured.
  void show_progress(const ProgressSink& sink, const StepReport& report, int64_t step, int64_t max_steps,
                     std::optional<double> last_val_loss) const;

  /// Smoothed over about ten steps.
  double tokens_per_second() const { return step_seconds_ > 0 ? step_targets_ / step_seconds_ : 0; }
  /// Share of the compute peak that the model's own operations are, over the same steps.
  double mfu() const {
    const double most = share_.compute_peak * step_seconds_;
    return most > 0 ? share_.flops_per_step / most : 0;
  }

 private:
  RunFolder run_;
  int64_t logging_steps_;
  std::vector<std::string> tensor_names_;
  ComputeShare share_;
  std::optional<JsonLines> metrics_;
  std::optional<JsonLines> samples_;
  std::optional<EventFile> events_;
  int64_t trained_tokens_ = 0;  // of steps that were written
  int64_t first_step_ = 0;
  double start_ = 0;
  double last_step_time_ = 0;
  double step_targets_ = 0;  // a step, smoothed
  double step_seconds_ = 0;  // likewise; 0: none was measured
};

}  // namespace athanor::train
