// Each launch is profiled by itself and the median taken, so that a busy moment of a shared machine does not count.
#include "kernels/kernel_bench.h"

#include "base/host.h"
#include "device/webgpu/webgpu_stream.h"

#include <algorithm>

namespace athanor::kernels {

namespace {

constexpr int64_t kLeastLaunches = 3;
constexpr int64_t kMostLaunches = 200;

double milliseconds_of_one(device::Stream& stream, const KernelBench& bench) {
  bench.launch();
  double sum = 0;
  for (const device::KernelLaunch& launch : stream.take_launches()) sum += launch.milliseconds;
  return sum;
}

KernelBench bench_of(device::Stream& stream, std::string_view name, int64_t bytes) {
  for (const KernelInfo& kernel : all_kernels()) {
    if (kernel.name == name) return kernel.bench(stream, bytes);
  }
  fail("bench kernels: there is no kernel {} to compare with", name);
}

}  // namespace

BenchResult measure(device::Stream& stream, const KernelBench& bench, double seconds) {
  for (int64_t i = 0; i < kLeastLaunches; ++i) bench.launch();
  stream.wait();
  stream.set_profiling(true);
  std::vector<double> times;
  const double start = now_seconds();
  for (int64_t i = 0; i < kMostLaunches && (i < kLeastLaunches || now_seconds() - start < seconds); ++i) {
    times.push_back(milliseconds_of_one(stream, bench));
  }
  stream.set_profiling(false);
  std::sort(times.begin(), times.end());
  BenchResult result;
  result.sizes = bench.sizes;
  result.milliseconds = times[times.size() / 2];
  result.launches = static_cast<int64_t>(times.size());
  result.cost = bench.cost;
  result.element_bytes = bench.element_bytes;
  return result;
}

DevicePeaks measure_peaks(device::Stream& stream, int64_t bytes, double seconds) {
  DevicePeaks peaks;
  peaks.flops_per_second = measure(stream, bench_of(stream, "arithmetic_peak", bytes), seconds).flops_per_second();
  peaks.copy_bytes_per_second = measure(stream, bench_of(stream, "copy", bytes), seconds).bytes_per_second();
  return peaks;
}

WithoutKernelFiles::WithoutKernelFiles(device::Stream& stream) : stream_(stream) {
  if (stream_.backend() == device::Backend::WebGpu) device::webgpu::as_webgpu(stream_).use_kernel_files(false);
}

WithoutKernelFiles::~WithoutKernelFiles() {
  if (stream_.backend() == device::Backend::WebGpu) device::webgpu::as_webgpu(stream_).use_kernel_files(true);
}

}  // namespace athanor::kernels
