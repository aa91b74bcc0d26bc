// GPU or CPU for a run that leaves it open: both take the run's own step for a moment, and the faster is taken.
#pragma once

#include "train/prepare.h"
#include "train/time_plan.h"

#include <functional>
#include <memory>
#include <string>

namespace athanor::train {

/// Opens devices for a run; cli passes one that logs which device it is.
using DeviceOpener = std::function<std::unique_ptr<device::Device>(const device::DeviceOptions&)>;

/// measure_briefly, or a test's numbers.
using StepMeasure = std::function<BriefMeasure(device::Device&, const TrainSettings& resolved, double enough_seconds)>;

/// `first` is what "auto" opened. When it is a hardware GPU, the CPU is opened beside it, the step of the run is measured on both, the GPU
/// first, and the faster is given back; one line on stderr names both times. Where the run fits only one of the two, that one is taken.
/// Nothing is measured without a hardware GPU, or when the user's shaders (settings.kernel), which only a GPU runs, are given. settings:
/// not resolved. Throws Error when the run fits neither.
std::unique_ptr<device::Device> choose_device(std::unique_ptr<device::Device> first, const TrainSettings& settings,
                                              const PreparedData& data, const DeviceOpener& open,
                                              const StepMeasure& measure = measure_briefly);

}  // namespace athanor::train
