// One line a step in each form.
#include "train/run_log.h"

#include "base/host.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace athanor::train {

namespace {

/// As metrics.jsonl names it.
const char* reason_of(StepOutcome outcome) {
  switch (outcome) {
    case StepOutcome::NotFinite:
      return "not finite";
    case StepOutcome::Outlier:
      return "outlier";
    case StepOutcome::NoTargets:
      return "no targets";
    case StepOutcome::Applied:
      break;
  }
  return "";
}

std::string duration(double seconds) {
  const int64_t total = std::max<int64_t>(0, std::llround(seconds));
  if (total >= 3600) return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
  return fmt::format("{}:{:02}", total / 60, total % 60);
}

}  // namespace

void RunLog::open(int64_t step, int64_t trained_tokens) {
  metrics_.emplace(run_.metrics(), step);
  samples_.emplace(run_.samples(), step);
  events_.emplace(run_.path(), step);
  trained_tokens_ = trained_tokens;
  first_step_ = step;
  rate_ = 0;
  start_ = last_step_time_ = now_seconds();
}

void RunLog::pause() { last_step_time_ = now_seconds(); }

void RunLog::measure_speed(const StepReport& report) {
  const double now = now_seconds();
  const double rate = static_cast<double>(report.targets) / std::max(1e-9, now - last_step_time_);
  // Over about the last ten steps; the first measured step starts it.
  rate_ = rate_ == 0 ? rate : 0.9 * rate_ + 0.1 * rate;
  last_step_time_ = now;
}

void RunLog::write_step(const StepReport& report, int64_t step, const std::optional<EvaluationReport>& evaluation) {
  trained_tokens_ += report.targets;
  measure_speed(report);
  if (step % logging_steps_ != 0 && !evaluation) return;
  nlohmann::ordered_json line;
  line["step"] = step;
  line["loss"] = report.loss;
  line["learning_rate"] = report.learning_rate;
  line["grad_norm"] = report.gradient_norm;
  line["tokens_per_second"] = std::round(rate_ * 10) / 10;
  line["trained_tokens"] = trained_tokens_;
  if (report.outcome != StepOutcome::Applied) line["refused"] = reason_of(report.outcome);
  if (evaluation) {
    line["val_loss"] = evaluation->loss;
    line["bits_per_byte"] = evaluation->bits_per_byte;
  }
  metrics_->append(line.dump());
  std::vector<EventFile::Scalar> scalars{{"train/loss", report.loss},
                                         {"train/grad_norm", report.gradient_norm},
                                         {"train/lr", report.learning_rate},
                                         {"train/tokens_per_second", rate_}};
  if (evaluation) {
    scalars.push_back({"val/loss", evaluation->loss});
    scalars.push_back({"val/bits_per_byte", evaluation->bits_per_byte});
  }
  events_->add(step, scalars);
}

void RunLog::write_samples(const std::vector<Sample>& samples, int64_t step) {
  for (const Sample& sample : samples) samples_->append(sample.json(step));
}

void RunLog::show_progress(const ProgressSink& sink, const StepReport& report, int64_t step, int64_t max_steps,
                           std::optional<double> last_val_loss) const {
  if (!sink) return;
  const double a_step = (now_seconds() - start_) / static_cast<double>(std::max<int64_t>(1, step - first_step_));
  sink(fmt::format("step {}/{}  loss {:.4f}{}  {:.0f} tok/s  {} left", step, max_steps, report.loss,
                   last_val_loss ? fmt::format("  val_loss {:.4f}", *last_val_loss) : "", rate_,
                   duration(a_step * static_cast<double>(max_steps - step))));
}

}  // namespace athanor::train
