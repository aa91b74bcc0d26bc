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

/// Seconds of an optimizer step on random tokens, over at least `seconds` after a warm-up. Of many micro-batches only some are taken: each
/// after the first costs the same. measured: how many steps were taken, when it is not null.
double measure_step(device::Stream& stream, const TrainSettings& settings, double seconds, int64_t* measured = nullptr);

/// A step's time as `train --device auto` wants it: soon.
struct BriefMeasure {
  double seconds = 0;            // of a step
  bool is_least = false;         // it takes at least so long: no more was measured, since that was too long already
  double measuring_seconds = 0;  // that this took
};

/// Measures a step for about a second at most after the kernels are compiled: of a long micro-batch only some rows. When the products of a
/// step alone, at the rate that a product reaches here, take longer than enough_seconds, no step is taken.
BriefMeasure measure_briefly(device::Device& device, const TrainSettings& settings, double enough_seconds);

/// Steps for about `seconds` after a warm-up, at least one; an evaluation and a few tokens beside them, and a file of the checkpoint's size or
/// 64 MiB in the folder for temporary files. settings: resolved. validation_blocks: of the loader.
TimePlan plan_time(device::Device& device, const TrainSettings& settings, int64_t validation_blocks, double seconds);

}  // namespace athanor::train
