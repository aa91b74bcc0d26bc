// What `athanor tune` measures: the choices of the launches of training steps.
#pragma once

#include "base/log.h"
#include "kernels/tuner.h"
#include "train/settings.h"

#include <functional>
#include <span>
#include <vector>

namespace athanor::train {

struct TuneReport {
  std::vector<kernels::TunedCall> calls;  // that were timed, those with most work first
  int64_t left = 0;                       // calls for which there was no time
  bool was_interrupted = false;
  device::ChoiceTable table;  // `known` with what was found
  double seconds = 0;
};

/// Notes the launches of a step of each of these settings on a dry device and times every way of each call that has a choice, for about
/// `seconds` in all: the time is looked at before each way is run, and a call that has not had five rounds of each by then is left. So is
/// one during which `interrupted` says yes, and those after it. settings: as for bench_train. On the CPU there is nothing to time.
TuneReport tune(device::Device& device, std::span<const TrainSettings> steps, const device::ChoiceTable& known,
                double seconds, const ProgressSink& progress, const std::function<bool()>& interrupted);

}  // namespace athanor::train
