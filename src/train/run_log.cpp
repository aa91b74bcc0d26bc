// One line a step in each form.
#include "train/run_log.h"

#include "base/host.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <span>

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

std::string list_documents(const std::vector<int64_t>& documents) {
  constexpr size_t kMost = 8;
  const std::span<const int64_t> shown = std::span(documents).first(std::min(documents.size(), kMost));
  const std::string more = documents.size() > kMost ? fmt::format(" and {} more", documents.size() - kMost) : "";
  return fmt::format("document{} {}{}", documents.size() == 1 ? "" : "s", fmt::join(shown, ", "), more);
}

void warn_of_step(const StepReport& report, int64_t step, const std::string& where, double outlier,
                  std::optional<double> usual_loss) {
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
          step, report.gradient_norm, outlier, report.worst_tensor, where);
      break;
    case StepOutcome::Applied:
      break;
  }
  if (usual_loss)
    log_warning("step {}: the loss is {:.4g}, far above the {:.4f} of the steps before ({})", step, report.loss,
                *usual_loss, where);
}

void RunLog::open(int64_t step, int64_t trained_tokens) {
  metrics_.emplace(run_.metrics(), step);
  samples_.emplace(run_.samples(), step);
  events_.emplace(run_.path(), step);
  trained_tokens_ = trained_tokens;
  first_step_ = step;
  step_targets_ = step_seconds_ = 0;
  start_ = last_step_time_ = now_seconds();
}

void RunLog::pause() { last_step_time_ = now_seconds(); }

void RunLog::measure_speed(const StepReport& report) {
  const double now = now_seconds();
  const double seconds = std::max(1e-9, now - last_step_time_);
  last_step_time_ = now;
  // Over about the last ten steps; the first measured step starts them. Sums, not rates: the report of a step that is evaluated or saved
  // comes sooner than its turn, and the next one later.
  const auto smooth = [this](double& mean, double measured) {
    mean = step_seconds_ == 0 ? measured : 0.9 * mean + 0.1 * measured;
  };
  smooth(step_targets_, static_cast<double>(report.targets));
  smooth(step_seconds_, seconds);
}

void RunLog::write_step(const StepReport& report, int64_t step, const std::optional<EvaluationReport>& evaluation) {
  trained_tokens_ += report.targets;
  if (step % logging_steps_ != 0 && !evaluation && report.tensor_norms.empty()) return;
  const double rate_shown = std::round(tokens_per_second() * 10) / 10;
  nlohmann::ordered_json line;
  line["step"] = step;
  line["loss"] = report.loss;
  line["learning_rate"] = report.learning_rate;
  line["grad_norm"] = report.gradient_norm;
  line["tokens_per_second"] = rate_shown;
  line["mfu"] = mfu();
  line["trained_tokens"] = trained_tokens_;
  if (report.outcome != StepOutcome::Applied) line["refused"] = reason_of(report.outcome);
  std::vector<EventFile::Scalar> scalars{{"train/loss", report.loss},
                                         {"train/grad_norm", report.gradient_norm},
                                         {"train/lr", report.learning_rate},
                                         {"train/tokens_per_second", rate_shown},
                                         {"train/mfu", mfu()}};
  if (evaluation) {
    line["val_loss"] = evaluation->loss;
    line["bits_per_byte"] = evaluation->bits_per_byte;
    scalars.push_back({"val/loss", evaluation->loss});
    scalars.push_back({"val/bits_per_byte", evaluation->bits_per_byte});
  }
  for (size_t i = 0; i < report.tensor_norms.size(); ++i) {
    const TensorNorms& norms = report.tensor_norms[i];
    const std::string& name = tensor_names_[i];
    line["tensor_norms"][name] = {{"grad", norms.gradient}, {"weight", norms.weights}, {"update", norms.update}};
    scalars.push_back({"grad_norm/" + name, norms.gradient});
    scalars.push_back({"weight_norm/" + name, norms.weights});
    scalars.push_back({"update_norm/" + name, norms.update});
  }
  metrics_->append(line.dump());
  events_->add(step, scalars);
}

void RunLog::write_samples(const std::vector<Sample>& samples, int64_t step) {
  for (const Sample& sample : samples) samples_->append(sample.json(step));
}

void RunLog::show_progress(const ProgressSink& sink, const StepReport& report, int64_t step, int64_t max_steps,
                           std::optional<double> last_val_loss) const {
  if (!sink) return;
  const double a_step = (now_seconds() - start_) / static_cast<double>(std::max<int64_t>(1, step - first_step_));
  sink(fmt::format("step {}/{}  loss {:.4f}{}  {:.0f} tok/s{}  {} left", step, max_steps, report.loss,
                   last_val_loss ? fmt::format("  val_loss {:.4f}", *last_val_loss) : "", tokens_per_second(),
                   share_.compute_peak > 0 ? fmt::format("  {:.0f} % MFU", 100 * mfu()) : "",
                   duration(a_step * static_cast<double>(max_steps - step))));
}

}  // namespace athanor::train
