// The GPU is measured first, so that the CPU need not be measured where its products alone take longer.
#include "train/device_choice.h"

#include "base/error.h"
#include "base/log.h"
#include "train/session.h"

#include <limits>
#include <optional>

namespace athanor::train {

namespace {

/// A device, the step of the run on it, or why there is none.
struct Candidate {
  std::unique_ptr<device::Device> device;
  std::optional<BriefMeasure> measured;
  std::string refused;
};

std::string name_of(const Candidate& candidate) {
  const device::DeviceInfo& info = candidate.device->info();
  return info.backend == device::Backend::Cpu ? "the CPU" : info.name;
}

/// What is not possible is noted, not thrown.
void measure(Candidate& candidate, TrainSettings settings, const PreparedData& data, const StepMeasure& measure,
             double enough_seconds) {
  try {
    resolve_shape(*candidate.device, settings, data, MemoryCheck::Yes);
    candidate.measured = measure(*candidate.device, settings, enough_seconds);
  } catch (const Error& error) {
    candidate.refused = error.what();
  }
}

std::string time_of(const Candidate& candidate) {
  if (!candidate.measured) return fmt::format("none on {}", name_of(candidate));
  return fmt::format("{}{:.1f} ms on {}", candidate.measured->is_least ? "at least " : "",
                     candidate.measured->seconds * 1e3, name_of(candidate));
}

}  // namespace

std::unique_ptr<device::Device> choose_device(std::unique_ptr<device::Device> first, const TrainSettings& settings,
                                              const PreparedData& data, const DeviceOpener& open,
                                              const StepMeasure& measure_step) {
  if (!first->info().is_hardware_gpu() || !settings.kernel.empty()) return first;
  Candidate gpu{std::move(first), std::nullopt, ""};
  // Both take one step: a model that is sized to the device is sized to the GPU here, and anew when the CPU is taken.
  TrainSettings shaped = settings;
  size_open_model(*gpu.device, shaped, data);
  measure(gpu, shaped, data, measure_step, std::numeric_limits<double>::infinity());

  device::DeviceOptions options;
  options.name = "cpu";
  options.threads = static_cast<int>(settings.threads);
  Candidate cpu{open(options), std::nullopt, ""};
  measure(cpu, shaped, data, measure_step,
          gpu.measured ? gpu.measured->seconds : std::numeric_limits<double>::infinity());
  check(gpu.measured || cpu.measured, "{}{}", gpu.refused,
        cpu.refused == gpu.refused ? "" : "; and on the CPU: " + cpu.refused);
  for (const Candidate* candidate : {&gpu, &cpu}) {
    if (!candidate->measured) log_warning("{}: {}", name_of(*candidate), candidate->refused);
  }
  const bool takes_gpu = gpu.measured && (!cpu.measured || gpu.measured->seconds <= cpu.measured->seconds);
  Candidate& taken = takes_gpu ? gpu : cpu;
  log_info("a step of this run: {}, {}; {} is taken (--device cpu or webgpu takes one unmeasured)", time_of(gpu),
           time_of(cpu), name_of(taken));
  return std::move(taken.device);
}

}  // namespace athanor::train
