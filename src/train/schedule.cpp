// Warm-up, plateau and decay.
#include "train/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace athanor::train {

namespace {

/// From `first` (the rate is still full) to `last` (it is min_lr_ratio of it), both clamped.
double progress_of(int64_t step, int64_t first, int64_t last) {
  return std::clamp(static_cast<double>(step - first) / static_cast<double>(std::max<int64_t>(1, last - first)), 0.0,
                    1.0);
}

}  // namespace

int64_t warmup_of(const TrainSettings& settings) { return std::min(settings.warmup_steps, settings.max_steps / 10); }

int64_t schedule_steps(const TrainSettings& settings) {
  return settings.lr_scheduler_steps > 0 ? settings.lr_scheduler_steps : settings.max_steps;
}

int64_t stable_steps(const TrainSettings& settings) {
  if (settings.lr_scheduler_type != "warmup_stable_decay") return -1;
  const int64_t span = schedule_steps(settings);
  const int64_t decay = std::llround(settings.decay_ratio * static_cast<double>(span));
  return std::max(span - std::max<int64_t>(1, decay), warmup_of(settings));
}

double learning_rate_at(const TrainSettings& settings, int64_t step) {
  const int64_t warmup = warmup_of(settings);
  if (step < warmup) return settings.learning_rate * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (settings.lr_scheduler_type == "constant") return settings.learning_rate;
  const int64_t last = schedule_steps(settings) - 1;
  double share = 0;
  if (settings.lr_scheduler_type == "warmup_stable_decay") {
    share = 1 - progress_of(step, stable_steps(settings) - 1, last);
  } else {
    const double progress = progress_of(step, warmup, last);
    share = settings.lr_scheduler_type == "linear" ? 1 - progress : 0.5 * (1 + std::cos(std::numbers::pi * progress));
  }
  return settings.learning_rate * (settings.min_lr_ratio + (1 - settings.min_lr_ratio) * share);
}

std::string keep_schedule(TrainSettings& settings, int64_t before, int64_t step) {
  if (before <= 0 || settings.lr_scheduler_type == "constant") return "";
  TrainSettings old = settings;
  old.lr_scheduler_steps = before;
  if (settings.lr_scheduler_steps > 0 && settings.lr_scheduler_steps != before) {
    return fmt::format(
        "the rate's schedule spans {} steps from now on, {} before: step {} takes {:.3g} where it was to take {:.3g}",
        settings.lr_scheduler_steps, before, step + 1, learning_rate_at(settings, step), learning_rate_at(old, step));
  }
  if (before == settings.max_steps) {
    settings.lr_scheduler_steps = 0;
    return "";
  }
  settings.lr_scheduler_steps = before;
  if (before > settings.max_steps)
    return fmt::format("the run ends at step {} but the rate's schedule spans {} steps as before; it ends at {:.3g}",
                       settings.max_steps, before, learning_rate_at(settings, settings.max_steps - 1));
  return fmt::format(
      "the run goes on to step {} but the rate's schedule ends at step {} as before: the rate stays at {:.3g} from "
      "there; "
      "--lr-scheduler-steps {} stretches it{}",
      settings.max_steps, before, learning_rate_at(settings, settings.max_steps - 1), settings.max_steps,
      stable_steps(settings) >= 0 ? ", from the last checkpoint before the decay" : "");
}

}  // namespace athanor::train
