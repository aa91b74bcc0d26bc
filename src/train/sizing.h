// How large a model to train when the settings leave it open, and how many steps fit a time. Both are measured on the device and written
// into the run before step 0, so that the run repeats.
#pragma once

#include "device/device.h"
#include "train/settings.h"

namespace athanor::train {

/// Rate of matmul_t in FLOP/s at M = N = K = size, best of a few launches.
double measure_matmul_flops(device::Stream& stream, int64_t size);

/// The best rate over sizes from 256 up to 4096 or to where one launch takes 20 ms: what "peak" means in reports.
double measure_matmul_peak(device::Stream& stream);

/// Fills model_config where hidden_size is 0: as many weights as the time can train (kTokensPerWeight tokens each at half of the
/// measured matmul rate) and the text can feed (one token a weight), from a ladder of shapes.
void size_model(device::Stream& stream, TrainSettings& settings, int64_t train_tokens);

/// Sets max_steps, and evaluation and checkpoint intervals, from settings.minutes and a measured step.
void set_steps_from_minutes(device::Stream& stream, TrainSettings& settings);

/// Tokens that each weight should see. The demo's 1.3 M weights see 1.9 each in three minutes on two cores and end 2.2 nats under unigram;
/// other ratios were not compared yet. A day of training wants more.
inline constexpr double kTokensPerWeight = 1.0;

}  // namespace athanor::train
