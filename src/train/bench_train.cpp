// The measurement behind `athanor bench train`.
#include "train/bench_train.h"

#include "base/host.h"
#include "train/random_step.h"
#include "train/sizing.h"
#include "train/step_profile.h"

namespace athanor::train {

namespace {

constexpr int64_t kWarmup = 3;
constexpr int64_t kProfiled = 3;

}  // namespace

TrainBench bench_train(device::Device& device, const TrainSettings& settings, int64_t steps) {
  if (!settings.profile.empty()) StepProfile::check_is_new(settings.profile);
  check(steps > 0, "bench train: {} steps; pass at least 1", steps);
  device::Stream& stream = device.stream();
  RandomStep step(stream, settings);

  TrainBench bench;
  bench.num_weights = settings.model_config.num_weights();
  bench.tokens_per_step = step.tokens_per_step();
  for (int64_t i = 0; i < kWarmup; ++i) step.run();
  step.wait();
  // From one step's end of recording to the next one's, as in a run: a step is recorded while the one before is computed.
  std::vector<double> seconds;
  step.run();
  double before = now_seconds();
  for (int64_t i = 0; i < steps; ++i) {
    step.run();
    const double now = now_seconds();
    seconds.push_back(now - before);
    before = now;
  }
  step.wait();
  std::sort(seconds.begin(), seconds.end());
  bench.seconds_per_step = seconds[seconds.size() / 2];
  bench.tokens_per_second = static_cast<double>(bench.tokens_per_step) / bench.seconds_per_step;
  bench.flops_per_second =
      settings.model_config.training_flops_per_token(settings.max_length) * bench.tokens_per_second;
  bench.device_peak_bytes = device.memory().peak_bytes;
  bench.process_peak_bytes = peak_resident_bytes();

  stream.set_profiling(true);
  for (int64_t i = 0; i < kProfiled; ++i) step.run();
  step.wait();
  bench.kernels = stream.take_profile();
  bench.profiled_steps = kProfiled;
  stream.set_profiling(false);
  StepProfile trace(settings.profile, 1, settings.profile_steps);
  for (int64_t number = 1; !settings.profile.empty() && number <= settings.profile_steps; ++number) {
    trace.before_step(stream, number);
    step.run();
    trace.after_step(stream, number);
  }
  step.wait();
  bench.matmul_peak = measure_matmul_peak(stream);
  return bench;
}

}  // namespace athanor::train
