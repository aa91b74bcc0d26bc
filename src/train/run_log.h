// What a run tells of its steps while it goes on: metrics.jsonl, samples.jsonl, TensorBoard events and the progress line, with the speed
// that all of them show.
#pragma once

#include "base/log.h"
#include "train/event_file.h"
#include "train/run_folder.h"
#include "train/samples.h"
#include "train/train_step.h"

#include <optional>
#include <vector>

namespace athanor::train {

/// What an evaluation found.
struct EvaluationReport {
  double loss = 0;           // mean, nats
  double bits_per_byte = 0;  // of the same tokens
};

class RunLog {
 public:
  /// A line of metrics.jsonl every `logging_steps`.
  RunLog(RunFolder run, int64_t logging_steps) : run_(std::move(run)), logging_steps_(logging_steps) {}

  /// Opens the files for a run that goes on behind `step`, where it had seen `trained_tokens` targets: later lines are dropped. The speed is
  /// measured anew.
  void open(int64_t step, int64_t trained_tokens);

  /// Step number `step` is done. The line is written where it is due, and always with an evaluation.
  void write_step(const StepReport& report, int64_t step, const std::optional<EvaluationReport>& evaluation);
  void write_samples(const std::vector<Sample>& samples, int64_t step);
  /// What was done since the last step is not training; it does not count for the speed.
  void pause();
  /// One line for the terminal; last_val_loss as last measured.
  void show_progress(const ProgressSink& sink, const StepReport& report, int64_t step, int64_t max_steps,
                     std::optional<double> last_val_loss) const;

  /// Smoothed over about ten steps.
  double tokens_per_second() const { return rate_; }

 private:
  void measure_speed(const StepReport& report);

  RunFolder run_;
  int64_t logging_steps_;
  std::optional<JsonLines> metrics_;
  std::optional<JsonLines> samples_;
  std::optional<EventFile> events_;
  int64_t trained_tokens_ = 0;  // of steps that were written
  int64_t first_step_ = 0;
  double start_ = 0;
  double last_step_time_ = 0;
  double rate_ = 0;
};

}  // namespace athanor::train
