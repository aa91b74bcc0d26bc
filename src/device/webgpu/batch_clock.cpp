// The first guesses are those of a slow adapter of its kind: the first batches come out short, then the factor lets them grow.
#include "device/webgpu/batch_clock.h"

#include <algorithm>

namespace athanor::device::webgpu {

namespace {

// An old integrated GPU has a few hundred GFLOP/s, of which a simple kernel reaches a tenth; lavapipe on two cores computes
// 3 to 12 GFLOP/s and copies 4 GB/s (measured 2026-11-29).
constexpr double kHardwareFlops = 50e9;
constexpr double kHardwareBytes = 10e9;
constexpr double kHardwareLaunch = 20e-6;
constexpr double kSoftwareFlops = 3e9;
constexpr double kSoftwareBytes = 2e9;
constexpr double kSoftwareLaunch = 50e-6;

}  // namespace

BatchClock::BatchClock(double limit_seconds, bool is_software)
    : limit_seconds_(limit_seconds),
      flops_per_second_(is_software ? kSoftwareFlops : kHardwareFlops),
      bytes_per_second_(is_software ? kSoftwareBytes : kHardwareBytes),
      launch_seconds_(is_software ? kSoftwareLaunch : kHardwareLaunch) {
  check(limit_seconds > 0 && limit_seconds <= 10,
        "device: batches of {} seconds; pass more than 0 and at most 10, drivers reset longer ones", limit_seconds);
}

double BatchClock::estimate(const KernelCost& cost, int64_t bound_bytes) const {
  const double bytes = cost.bytes > 0 ? cost.bytes : static_cast<double>(bound_bytes);
  return factor_ * (launch_seconds_ + std::max(cost.flops / flops_per_second_, bytes / bytes_per_second_));
}

void BatchClock::measured(double estimated_seconds, double seconds, bool is_exact) {
  if (estimated_seconds <= 0 || seconds <= 0) return;
  // Short batches measure the round trip to the host, not the work.
  const double ratio = seconds / estimated_seconds;
  if (ratio > 1 && (!is_exact || seconds < 1e-3)) return;
  // Slower than thought is believed at once, faster by halves, so that one light batch does not make the next one too long.
  const double step = ratio > 1 ? ratio : std::max(0.5, (1 + ratio) / 2);
  factor_ = std::clamp(factor_ * step, 1e-4, 1e3);
}

}  // namespace athanor::device::webgpu
