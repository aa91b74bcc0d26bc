// One training step taken apart: every launch in order, with what it moves and how long it takes.
#pragma once

#include "kernels/launch_notes.h"
#include "train/settings.h"

#include <vector>

namespace athanor::train {

struct ExplainedLaunch {
  kernels::NotedLaunch launch;
  double milliseconds = 0;  // median of the profiled steps
};

struct ExplainedStep {
  int64_t num_weights = 0;
  int64_t tokens = 0;
  double milliseconds = 0;  // of all launches, each timed by itself
  std::vector<ExplainedLaunch> launches;
};

/// settings: as for bench_train. On the CPU, where a kernel is one call, a row is a call with the operands of its launches.
ExplainedStep explain_step(device::Device& device, const TrainSettings& settings);

}  // namespace athanor::train
