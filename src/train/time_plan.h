// How long a run will take here, from steps that are really taken on random tokens.
#pragma once

#include "device/device.h"
#include "train/settings.h"

namespace athanor::train {

struct TimePlan {
  double flops_per_step = 0;
  double seconds_per_step = 0;  // measured
  double tokens_per_second = 0;
  double seconds_per_evaluation = 0;
  double seconds_per_sample = 0;
  double seconds_per_checkpoint = 0;
  int64_t evaluations = 0;
  int64_t samples = 0;
  int64_t checkpoints = 0;
  double seconds = 0;      // of the whole run, from the first step to the last checkpoint
  double matmul_peak = 0;  // FLOP/s of the fastest product measured here
  double mfu = 0;          // share of it that the steps use
  int64_t measured_steps = 0;
  int64_t device_peak_bytes = 0;  // held by the device layer after the measurement: a check of the memory plan
};

/// Steps for about `seconds` after a warm-up, at least one; an evaluation and a few tokens beside them, and a file of the checkpoint's size or
/// 64 MiB in the folder for temporary files. settings: resolved. validation_blocks: of the loader.
TimePlan plan_time(device::Device& device, const TrainSettings& settings, int64_t validation_blocks, double seconds);

}  // namespace athanor::train
