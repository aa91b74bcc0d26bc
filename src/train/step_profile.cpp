// Times are microseconds, as the format has them.
#include "train/step_profile.h"

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/log.h"

#include <nlohmann/json.hpp>

#include <utility>

namespace athanor::train {

namespace {

using nlohmann::ordered_json;

ordered_json name_of_row(const char* kind, int row, const std::string& name) {
  return {{"name", kind}, {"ph", "M"}, {"pid", 1}, {"tid", row}, {"args", {{"name", name}}}};
}

}  // namespace

std::string chrome_trace(const std::vector<std::pair<int64_t, std::vector<device::KernelLaunch>>>& steps,
                         const std::string& device) {
  constexpr int kStepRow = 1;
  constexpr int kKernelRow = 2;
  ordered_json events = ordered_json::array();
  events.push_back(name_of_row("process_name", kStepRow, device));
  events.push_back(name_of_row("thread_name", kStepRow, "steps"));
  events.push_back(name_of_row("thread_name", kKernelRow, "kernels"));
  double now = 0;
  for (const auto& [step, launches] : steps) {
    const double begin = now;
    for (const device::KernelLaunch& launch : launches) {
      const double microseconds = launch.milliseconds * 1e3;
      ordered_json details = {{"flops", launch.cost.flops}, {"bytes", launch.cost.bytes}};
      if (!launch.pass.empty()) details["pass"] = launch.pass;
      if (!launch.variant.empty()) details["variant"] = launch.variant;
      events.push_back({{"name", launch.kernel},
                        {"ph", "X"},
                        {"pid", 1},
                        {"tid", kKernelRow},
                        {"ts", now},
                        {"dur", microseconds},
                        {"args", std::move(details)}});
      now += microseconds;
    }
    events.push_back({{"name", fmt::format("step {}", step)},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", kStepRow},
                      {"ts", begin},
                      {"dur", now - begin},
                      {"args", {{"launches", launches.size()}}}});
  }
  ordered_json trace;
  trace["displayTimeUnit"] = "ms";
  trace["traceEvents"] = std::move(events);
  return trace.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

bool StepProfile::is_due(int64_t step) const {
  return !path_.empty() && step >= first_step_ && step < first_step_ + steps_;
}

void StepProfile::before_step(device::Stream& stream, int64_t step) {
  if (!is_due(step)) return;
  stream.wait();  // what was recorded before is no part of it
  stream.set_profiling(true);
}

void StepProfile::after_step(device::Stream& stream, int64_t step) {
  if (!is_due(step)) return;
  done_.push_back({step, stream.take_launches()});
  stream.set_profiling(false);
  if (step + 1 == first_step_ + steps_) write(stream);
}

void StepProfile::write(device::Stream& stream) {
  if (done_.empty()) return;
  std::vector<std::pair<int64_t, std::vector<device::KernelLaunch>>> steps;
  for (Step& step : done_) steps.emplace_back(step.step, std::move(step.launches));
  done_.clear();
  try {
    check_is_new(path_);
    write_file(path_, chrome_trace(steps, stream.device().info().name));
    log_info("the profile is in {}; chrome://tracing and ui.perfetto.dev show it", path_.string());
  } catch (const Error& error) {
    log_warning("the profile is not written: {}", error.what());  // the run is worth more
  }
  path_.clear();
}

void StepProfile::finish(device::Stream& stream) {
  write(stream);
  if (!path_.empty())
    log_warning("the profile is not written: the run ended before step {}; pass a smaller --profile-first-step",
                first_step_);
}

void StepProfile::check_is_new(const std::filesystem::path& path) {
  std::error_code none;
  check(!std::filesystem::exists(path, none), "{}: is there already; name another file for --profile, or remove it",
        path.string());
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  check(std::filesystem::is_directory(folder, none), "{}: cannot be written: there is no folder {}; make it first",
        path.string(), folder.string());
}

}  // namespace athanor::train
