// How long recorded work will take, so that a batch is handed in before it is too long: drivers reset an adapter whose work runs for
// seconds. A launch's flops and bytes give a first guess; one factor, learned from finished batches, corrects it.
#pragma once

#include "device/device.h"

namespace athanor::device::webgpu {

class BatchClock {
 public:
  /// limit_seconds bounds one batch. A software adapter starts from the speed of a CPU.
  BatchClock(double limit_seconds, bool is_software);

  /// Seconds that a launch will take as far as is known. bound_bytes stands in for a cost that the kernel did not give.
  double estimate(const KernelCost& cost, int64_t bound_bytes) const;
  /// True when a batch of so many seconds is full enough.
  bool is_full(double batch_seconds) const { return batch_seconds >= limit_seconds_; }
  double limit_seconds() const { return limit_seconds_; }

  /// A batch with this estimate took so many seconds. is_exact: the host was waiting for it; otherwise the time is only an upper bound,
  /// since the host looked late.
  void measured(double estimated_seconds, double seconds, bool is_exact);
  double factor() const { return factor_; }

 private:
  double limit_seconds_;
  double flops_per_second_;
  double bytes_per_second_;
  double launch_seconds_;
  double factor_ = 1;
};

}  // namespace athanor::device::webgpu
