// The measurement behind `athanor bench train`.
#include "train/bench_train.h"

#include "base/host.h"
#include "base/random.h"
#include "train/sizing.h"
#include "train/train_step.h"

namespace athanor::train {

namespace {

constexpr int64_t kWarmup = 3;
constexpr int64_t kProfiled = 3;

}  // namespace

TrainBench bench_train(device::Device& device, const TrainSettings& settings, int64_t steps) {
  check(steps > 0, "bench train: {} steps; pass at least 1", steps);
  device::Stream& stream = device.stream();
  nn::Llama model(stream, settings.model_config, nn::Trained::Yes);
  model.parameters().initialize(stream, settings.seed);
  TrainStep step(stream, model, {}, settings.gradient_checkpointing ? nn::Recompute::Blocks : nn::Recompute::No);
  const nn::Rows rows{settings.per_device_train_batch_size, settings.max_length};
  const int64_t accumulation = settings.gradient_accumulation_steps;

  TrainBench bench;
  bench.num_weights = settings.model_config.num_weights();
  bench.tokens_per_step = rows.batch * rows.length * accumulation;
  Random random(settings.seed, RandomStream::Test);
  const auto do_step = [&] {
    std::vector<uint32_t> ids(static_cast<size_t>(rows.batch * rows.length));
    step.begin(bench.tokens_per_step);
    for (int64_t micro = 0; micro < accumulation; ++micro) {
      for (uint32_t& id : ids)
        id = static_cast<uint32_t>(random.below(static_cast<uint64_t>(settings.model_config.vocab_size)));
      const std::vector<int32_t> targets(ids.begin(), ids.end());
      step.add(ids, targets, rows);
    }
    step.finish(1e-4);
  };
  for (int64_t i = 0; i < kWarmup; ++i) do_step();
  step.drain();
  // From one step's end of recording to the next one's, as in a run: a step is recorded while the one before is computed.
  std::vector<double> seconds;
  do_step();
  double before = now_seconds();
  for (int64_t i = 0; i < steps; ++i) {
    do_step();
    const double now = now_seconds();
    seconds.push_back(now - before);
    before = now;
  }
  step.drain();
  std::sort(seconds.begin(), seconds.end());
  bench.seconds_per_step = seconds[seconds.size() / 2];
  bench.tokens_per_second = static_cast<double>(bench.tokens_per_step) / bench.seconds_per_step;
  bench.flops_per_second = settings.model_config.training_flops_per_token(rows.length) * bench.tokens_per_second;
  bench.device_peak_bytes = device.memory().peak_bytes;
  bench.process_peak_bytes = peak_resident_bytes();

  stream.set_profiling(true);
  for (int64_t i = 0; i < kProfiled; ++i) do_step();
  step.drain();
  bench.kernels = stream.take_profile();
  bench.profiled_steps = kProfiled;
  stream.set_profiling(false);
  bench.matmul_peak = measure_matmul_peak(stream);
  return bench;
}

}  // namespace athanor::train
