// Time of one kernel, and the limits of the device that it is compared with.
#pragma once

#include "kernels/kernel_info.h"

namespace athanor::kernels {

struct BenchResult {
  std::string sizes;
  double milliseconds = 0;  // median of one launch of the door, all its passes together
  int64_t launches = 0;     // that were timed
  device::KernelCost cost;  // FLOPs, and bytes with each operand moved once
  int64_t element_bytes = 4;

  double flops_per_second() const { return cost.flops / (milliseconds * 1e-3); }
  double bytes_per_second() const { return cost.bytes / (milliseconds * 1e-3); }
};

/// Three launches to warm up, then as many as fit `seconds` (at least 3, at most 200), each timed by the device's own clock where it
/// has one.
BenchResult measure(device::Stream& stream, const KernelBench& bench, double seconds);

/// What this device reaches: the shares of `bench kernels` are of these.
struct DevicePeaks {
  double flops_per_second = 0;       // fused multiply-adds in registers (kernel arithmetic_peak)
  double copy_bytes_per_second = 0;  // read and written by the kernel copy on buffers of `bytes`
};
DevicePeaks measure_peaks(device::Stream& stream, int64_t bytes, double seconds);

/// While it lives, user's files (--kernel) are not launched.
class WithoutKernelFiles {
 public:
  explicit WithoutKernelFiles(device::Stream& stream);
  WithoutKernelFiles(const WithoutKernelFiles&) = delete;
  WithoutKernelFiles& operator=(const WithoutKernelFiles&) = delete;
  ~WithoutKernelFiles();

 private:
  device::Stream& stream_;
};

}  // namespace athanor::kernels
