// Learning rate of each step.
#pragma once

#include "train/settings.h"

namespace athanor::train {

/// Steps of warm-up as they are applied: at most a tenth of the run, so that a short one still reaches the full rate.
int64_t warmup_of(const TrainSettings& settings);

/// Rate of step `step` (0-based) of settings.max_steps: linear warm-up from learning_rate / warmup_steps, then cosine or linear to
/// min_lr_ratio of it at the last step, or constant.
double learning_rate_at(const TrainSettings& settings, int64_t step);

}  // namespace athanor::train
