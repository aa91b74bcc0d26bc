// Warm-up and decay.
#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace athanor::train {

int64_t warmup_of(const TrainSettings& settings) { return std::min(settings.warmup_steps, settings.max_steps / 10); }

double learning_rate_at(const TrainSettings& settings, int64_t step) {
  const int64_t warmup = warmup_of(settings);
  if (step < warmup) return settings.learning_rate * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (settings.lr_scheduler_type == "constant") return settings.learning_rate;
  const int64_t last = std::max<int64_t>(1, settings.max_steps - 1 - warmup);
  const double progress = std::clamp(static_cast<double>(step - warmup) / static_cast<double>(last), 0.0, 1.0);
  const double share =
      settings.lr_scheduler_type == "linear" ? 1 - progress : 0.5 * (1 + std::cos(std::numbers::pi * progress));
  return settings.learning_rate * (settings.min_lr_ratio + (1 - settings.min_lr_ratio) * share);
}

}  // namespace athanor::train
