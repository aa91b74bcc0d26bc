// Learning rate of each step.
#pragma once

#include "train/settings.h"

namespace athanor::train {

/// Steps of warm-up as they are applied: at most a tenth of the run, so that a short one still reaches the full rate.
int64_t warmup_of(const TrainSettings& settings);

/// Steps that the schedule spans: lr_scheduler_steps, or max_steps where that is 0. A longer run keeps the last rate.
int64_t schedule_steps(const TrainSettings& settings);

/// With warmup_stable_decay the number of steps before the decay begins; -1 with the other schedules.
int64_t stable_steps(const TrainSettings& settings);

/// Rate of step `step` (0-based): linear warm-up from learning_rate / warmup_steps, then
///   constant             learning_rate
///   cosine, linear       down to min_lr_ratio of it at the last step of the schedule
///   warmup_stable_decay  learning_rate, and over the last decay_ratio of the schedule linearly down to min_lr_ratio of it
/// Source of the last: Hu et al. 2024, arXiv:2404.06395.
double learning_rate_at(const TrainSettings& settings, int64_t step);

/// What the rate does on a resumed run whose schedule spanned `before` steps when it was at `step`: the same as before, whatever max_steps
/// says now, unless lr_scheduler_steps is given and differs. Sets lr_scheduler_steps, and says in one line what happens where the run is
/// longer or the schedule another; empty where nothing changes.
std::string keep_schedule(TrainSettings& settings, int64_t before, int64_t step);

}  // namespace athanor::train
