// What a run is guarded by: it judges each step by its report, tells the device which norm is too large, and says when the run is in
// trouble. Its state is in the checkpoint, so that a resumed run judges as the one that was never stopped.
#pragma once

#include "train/train_step.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace athanor::train {

struct GuardSettings {
  double outlier = 10;  // a norm above so many times the median of the last ones is refused; 0: only what is not finite
  double max_grad_norm = 1;  // a norm that is not even clipped is no outlier
  int64_t patience = 3;      // bad steps in a row until the run is in trouble; 0: never
};

/// A step is bad when it was refused, or when its loss is not finite or far above the running mean.
enum class Verdict { Good, Bad, Trouble };

struct GuardState {
  std::vector<double> norms;        // of the last steps whose gradients were finite, oldest first
  std::optional<double> mean_loss;  // exponential mean over good steps
  int64_t bad_in_row = 0;
  int64_t first_bad_step = 0;  // of them
  double rate_factor = 1;      // of the learning rate, after rollbacks
  int64_t rollbacks = 0;
  int64_t skipped_batches =
      0;  // of rollbacks: a step takes the batch so many behind its own number, and none of the bad ones again

  std::string to_json() const;
  /// Throws Error, naming `source`, for a text that is no such state.
  static GuardState from_json(const std::string& text, const std::string& source);
};

class Guard {
 public:
  explicit Guard(const GuardSettings& settings) : settings_(settings) {}

  /// The report of step number `step` (from 1). Call in order.
  Verdict observe(const StepReport& report, int64_t step);
  /// For the next step on the device; 0: any norm is taken. Known only after kLeastNorms steps.
  double largest_norm() const;
  /// True when the loss of the last step was no number or far above its mean.
  bool loss_is_bad(double loss) const;

  const GuardState& state() const { return state_; }
  void set_state(GuardState state) { state_ = std::move(state); }

 private:
  GuardSettings settings_;
  GuardState state_;
};

inline constexpr size_t kMostNorms = 64;   // steps that the median is taken over
inline constexpr size_t kLeastNorms = 16;  // before there are so many the median means nothing

}  // namespace athanor::train
