// A Chrome trace of a few training steps, a bar a kernel: chrome://tracing and Perfetto open it.
#pragma once

#include "device/device.h"

#include <filesystem>
#include <string>
#include <vector>

namespace athanor::train {

/// The steps of a run that are profiled, as they come.
class StepProfile {
 public:
  /// Steps first_step to first_step + steps - 1, counted from 1, go into the file. An empty path profiles nothing.
  StepProfile(std::filesystem::path path, int64_t first_step, int64_t steps)
      : path_(std::move(path)), first_step_(first_step), steps_(steps) {}

  /// Before step `step` is recorded and after it was submitted. Launches of a profiled step are timed one by one, so it takes longer.
  /// The file is written after the last one; a warning says when it cannot be, since a run is worth more than its profile.
  void before_step(device::Stream& stream, int64_t step);
  void after_step(device::Stream& stream, int64_t step);
  /// At the end of a run that ended before the last profiled step: writes what there is, or warns that there is nothing.
  void finish(device::Stream& stream);

  /// Throws Error when something is there already, or no folder to put it into.
  static void check_is_new(const std::filesystem::path& path);

 private:
  struct Step {
    int64_t step = 0;
    std::vector<device::KernelLaunch> launches;
  };
  bool is_due(int64_t step) const;
  void write(device::Stream& stream);

  std::filesystem::path path_;
  int64_t first_step_;
  int64_t steps_;
  std::vector<Step> done_;
};

/// JSON of the trace event format: one complete event a launch (its kernel, FLOPs and bytes), laid end to end in order, since a launch's
/// start is not measured; and one a step above them. `device` names the process.
std::string chrome_trace(const std::vector<std::pair<int64_t, std::vector<device::KernelLaunch>>>& steps,
                         const std::string& device);

}  // namespace athanor::train
