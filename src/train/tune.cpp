// The calls of all steps together, sorted by their work.
#include "train/tune.h"

#include "base/host.h"
#include "train/random_step.h"

#include <algorithm>

namespace athanor::train {

namespace {

std::vector<kernels::TunableCall> calls_of(device::Device& device, const TrainSettings& asked) {
  TrainSettings settings = asked;
  // The second micro-batch adds to gradients; further ones launch the same.
  settings.gradient_accumulation_steps = std::min<int64_t>(settings.gradient_accumulation_steps, 2);
  return kernels::tunable_calls(device, settings.matmul_precision(), [&](device::Stream& stream) {
    RandomStep step(stream, settings, RandomStep::Weights::Undefined);
    step.run();
    step.wait();
  });
}

std::vector<kernels::TunableCall> calls_of_all(device::Device& device, std::span<const TrainSettings> steps) {
  std::vector<kernels::TunableCall> all;
  for (const TrainSettings& settings : steps) {
    for (const kernels::TunableCall& call : calls_of(device, settings)) {
      const auto known = std::find_if(all.begin(), all.end(), [&](const auto& other) { return other.is_like(call); });
      if (known == all.end()) {
        all.push_back(call);
      } else {
        known->calls += call.calls;
        known->flops += call.flops;
      }
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.flops > b.flops; });
  return all;
}

}  // namespace

TuneReport tune(device::Device& device, std::span<const TrainSettings> steps, const device::ChoiceTable& known,
                double seconds, const ProgressSink& progress, const std::function<bool()>& interrupted) {
  const double start = now_seconds();
  const std::vector<kernels::TunableCall> calls = calls_of_all(device, steps);
  TuneReport report;
  report.table = known;
  const auto rest = [&] { return seconds - (now_seconds() - start); };
  const auto should_stop = [&] { return interrupted() || rest() <= 0; };
  for (size_t i = 0; i < calls.size(); ++i) {
    progress(fmt::format("tune: {} of {}, {}", i + 1, calls.size(), calls[i].kernel));
    const double its_time = rest() / static_cast<double>(calls.size() - i);
    std::optional<kernels::TunedCall> tuned = kernels::tune_call(device, calls[i], its_time, should_stop);
    if (!tuned) {
      report.left = static_cast<int64_t>(calls.size() - i);
      report.was_interrupted = interrupted();
      break;
    }
    kernels::keep(*tuned, report.table);
    report.calls.push_back(std::move(*tuned));
    device.trim();
  }
  progress("");
  report.seconds = now_seconds() - start;
  return report;
}

}  // namespace athanor::train
