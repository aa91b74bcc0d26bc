// The launches come from a dry run of the same step, the times from profiled ones; both take the same decisions, since sizes and the
// device's limits alone decide.
#include "train/explain.h"

#include "train/random_step.h"

#include <algorithm>

namespace athanor::train {

namespace {

constexpr int64_t kWarmup = 2;
constexpr int64_t kProfiled = 5;

/// The calls of a step as rows: the main launch's sizes, and what all launches of the call touch.
std::vector<kernels::NotedLaunch> as_calls(const kernels::LaunchNotes& notes) {
  std::vector<kernels::NotedLaunch> rows(notes.calls.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].kernel = notes.calls[i].kernel;
    rows[i].cost = notes.calls[i].cost;
    rows[i].variant = "cpu";
  }
  for (const kernels::NotedLaunch& launch : notes.launches) {
    kernels::NotedLaunch& row = rows[launch.door];
    if (row.sizes.empty()) row.sizes = launch.sizes;
    for (const kernels::NotedOperand& operand : launch.operands) {
      const auto same = [&](const kernels::NotedOperand& known) {
        return known.buffer == operand.buffer && known.name == operand.name;
      };
      if (std::none_of(row.operands.begin(), row.operands.end(), same)) row.operands.push_back(operand);
    }
  }
  return rows;
}

std::vector<kernels::NotedLaunch> launches_of_step(device::Device& device, const TrainSettings& settings) {
  const kernels::LaunchNotes notes =
      kernels::note_launches(device, [&](device::Stream& stream, kernels::LaunchNotes& noted) {
        RandomStep step(stream, settings);
        step.run();
        noted = {};
        step.run();
        step.wait();
      });
  return device.info().backend == device::Backend::Cpu ? as_calls(notes) : notes.launches;
}

}  // namespace

ExplainedStep explain_step(device::Device& device, const TrainSettings& settings) {
  const std::vector<kernels::NotedLaunch> launches = launches_of_step(device, settings);
  device::Stream& stream = device.stream();
  RandomStep step(stream, settings);
  for (int64_t i = 0; i < kWarmup; ++i) step.run();
  step.wait();
  stream.set_profiling(true);
  std::vector<std::vector<double>> times(launches.size());
  for (int64_t i = 0; i < kProfiled; ++i) {
    step.run();
    step.wait();
    const std::vector<device::KernelLaunch> timed = stream.take_launches();
    check(timed.size() == launches.size(), "explain: the step made {} launches but its dry run {}; report this",
          timed.size(), launches.size());
    for (size_t k = 0; k < timed.size(); ++k) {
      check(timed[k].kernel == launches[k].kernel, "explain: launch {} is {} but its dry run says {}; report this", k,
            timed[k].kernel, launches[k].kernel);
      times[k].push_back(timed[k].milliseconds);
    }
  }
  stream.set_profiling(false);

  ExplainedStep explained;
  explained.num_weights = settings.model_config.num_weights();
  explained.tokens = step.tokens_per_step();
  for (size_t k = 0; k < launches.size(); ++k) {
    std::sort(times[k].begin(), times[k].end());
    explained.launches.push_back({launches[k], times[k][times[k].size() / 2]});
    explained.milliseconds += explained.launches.back().milliseconds;
  }
  return explained;
}

}  // namespace athanor::train
