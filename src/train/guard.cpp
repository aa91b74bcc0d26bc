// Medians and means over the last steps.
#include "train/guard.h"

#include "base/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace athanor::train {

namespace {

constexpr double kMeanDecay = 0.95;  // of the running loss: about the last twenty steps
// A loss above twice the mean and one nat more: no batch of real text differs so much from its neighbours, and a model that learnt its text
// by heart (mean near 0) still has a nat of room.
constexpr double kLossFactor = 2;
constexpr double kLossRoom = 1;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

bool Guard::loss_is_bad(double loss) const {
  if (!std::isfinite(loss)) return true;
  return state_.mean_loss && loss > kLossFactor * *state_.mean_loss + kLossRoom;
}

Verdict Guard::observe(const StepReport& report, int64_t step) {
  if (report.outcome == StepOutcome::NoTargets) return Verdict::Good;
  const bool is_finite = report.outcome != StepOutcome::NotFinite && std::isfinite(report.gradient_norm);
  if (is_finite) {
    // Outliers count too, so that what lasts becomes the usual.
    if (state_.norms.size() == kMostNorms) state_.norms.erase(state_.norms.begin());
    state_.norms.push_back(report.gradient_norm);
  }
  const bool is_good = report.outcome == StepOutcome::Applied && !loss_is_bad(report.loss);
  if (is_good) {
    state_.mean_loss = state_.mean_loss ? kMeanDecay * *state_.mean_loss + (1 - kMeanDecay) * report.loss : report.loss;
    state_.bad_in_row = 0;
    return Verdict::Good;
  }
  if (state_.bad_in_row == 0) state_.first_bad_step = step;
  state_.bad_in_row += 1;
  return settings_.patience > 0 && state_.bad_in_row >= settings_.patience ? Verdict::Trouble : Verdict::Bad;
}

double Guard::largest_norm() const {
  if (settings_.outlier <= 0 || state_.norms.size() < kLeastNorms) return 0;
  return std::max(settings_.outlier * median(state_.norms), settings_.max_grad_norm);
}

std::string GuardState::to_json() const {
  nlohmann::ordered_json object;
  object["norms"] = norms;
  object["mean_loss"] = mean_loss ? nlohmann::ordered_json(*mean_loss) : nlohmann::ordered_json(nullptr);
  object["bad_in_row"] = bad_in_row;
  object["first_bad_step"] = first_bad_step;
  object["rate_factor"] = rate_factor;
  object["rollbacks"] = rollbacks;
  object["skipped_batches"] = skipped_batches;
  return object.dump();
}

GuardState GuardState::from_json(const std::string& text, const std::string& source) {
  const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
  const auto number = [&](const char* name) {
    check(object.is_object() && object.contains(name) && object[name].is_number(),
          "{}: guard.{} is missing or no number; the checkpoint was altered, take another", source, name);
    return object[name].get<double>();
  };
  const auto count = [&](const char* name) {
    number(name);
    const nlohmann::json& value = object[name];
    check(value.is_number_integer() && value.get<int64_t>() >= 0,
          "{}: guard.{} is {}; it counts from 0 on: the checkpoint was altered, take another", source, name,
          value.dump());
    return value.get<int64_t>();
  };
  GuardState state;
  state.bad_in_row = count("bad_in_row");
  state.first_bad_step = count("first_bad_step");
  state.rate_factor = number("rate_factor");
  state.rollbacks = count("rollbacks");
  // An older version took the same batches again.
  if (object.contains("skipped_batches")) state.skipped_batches = count("skipped_batches");
  if (object.contains("mean_loss") && object["mean_loss"].is_number()) state.mean_loss = number("mean_loss");
  const auto norms = object.find("norms");
  check(norms != object.end() && norms->is_array() && norms->size() <= kMostNorms,
        "{}: guard.norms is no list of at most {} numbers; the checkpoint was altered, take another", source,
        kMostNorms);
  for (const nlohmann::json& norm : *norms) {
    check(norm.is_number(), "{}: guard.norms holds {}; the checkpoint was altered, take another", source, norm.dump());
    state.norms.push_back(norm.get<double>());
  }
  return state;
}

}  // namespace athanor::train
