// Measures training steps on random tokens: speed as a run has it, then time by kernel with every launch timed by itself.
#pragma once

#include "device/device.h"
#include "train/settings.h"

#include <vector>

namespace athanor::train {

struct TrainBench {
  int64_t num_weights = 0;
  int64_t tokens_per_step = 0;
  double seconds_per_step = 0;              // median
  double tokens_per_second = 0;             // by the median
  double flops_per_second = 0;              // of the model's formula (nn::LlamaConfig::training_flops_per_token)
  double matmul_peak = 0;                   // FLOP/s, measured here
  std::vector<device::KernelTime> kernels;  // of `profiled_steps` steps, slowest first
  int64_t profiled_steps = 0;
  int64_t device_peak_bytes = 0;   // most that the device layer held
  int64_t process_peak_bytes = 0;  // resident memory; 0: unknown
};

/// settings: model_config complete, max_length, batch, accumulation. Steps after a warm-up of three.
TrainBench bench_train(device::Device& device, const TrainSettings& settings, int64_t steps);

}  // namespace athanor::train
