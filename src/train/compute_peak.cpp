// Longer and longer launches, until starting one no longer counts.
#include "train/compute_peak.h"

#include "base/fault.h"
#include "base/host.h"
#include "kernels/arithmetic_peak/arithmetic_peak.h"
#include "kernels/matmul/matmul.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace athanor::train {

namespace {

constexpr double kLongEnough = 0.02;  // seconds, beside which starting a launch is nothing

double seconds_of(device::Stream& stream, const std::function<void()>& launch) {
  stream.wait();
  const double start = now_seconds();
  launch();
  stream.wait();
  return std::max(now_seconds() - start, 1e-9);
}

/// FLOP/s of a launch, the best of several runs: other work on the machine only slows it.
double best_rate(device::Stream& stream, const std::function<void()>& launch, double flops) {
  constexpr int kRuns = 5;
  constexpr int kMostLaunches = 256;
  double best = 0;
  int runs = 0;
  for (int launches = 1; runs < kRuns;) {
    const double seconds = seconds_of(stream, [&] {
      for (int i = 0; i < launches; ++i) launch();
    });
    best = std::max(best, launches * flops / seconds);
    if (runs == 0 && seconds < kLongEnough && launches < kMostLaunches) {
      launches *= 2;
    } else {
      ++runs;
    }
  }
  return best;
}

double measure_arithmetic(device::Stream& stream) {
  const bool is_fast = stream.device().info().is_hardware_gpu();
  kernels::ArithmeticPeak args;
  args.count = is_fast ? 1 << 20 : 1 << 14;  // as many threads as a large device runs at once
  args.out = stream.device().allocate(args.count * 4, "arithmetic_peak out");
  args.rounds = is_fast ? 1024 : 256;
  seconds_of(stream, [&] { kernels::arithmetic_peak(stream, args); });  // compiles
  return best_rate(
      stream, [&] { kernels::arithmetic_peak(stream, args); },
      2.0 * static_cast<double>(kernels::kArithmeticChains * args.rounds * args.count));
}

double measure_product(device::Stream& stream, kernels::MatMulPrecision precision, int64_t size) {
  const std::vector<float> values(static_cast<size_t>(size * size),
                                  0.5F);  // zeros would draw less power than numbers
  const auto make = [&](std::string_view label) {
    device::Buffer buffer = stream.device().allocate(size * size * 4, label);
    stream.upload(buffer, std::as_bytes(std::span(values)));
    return buffer;
  };
  device::Buffer x_scale;
  device::Buffer w_scale;
  kernels::MatMul args{make("x"), make("w"), make("product"), size, size, size};
  args.precision = precision;
  args.x_scale = &x_scale;
  args.w_scale = &w_scale;
  seconds_of(stream, [&] { kernels::matmul(stream, args); });  // compiles, measures the scales
  return best_rate(stream, [&] { kernels::matmul(stream, args); }, 2.0 * static_cast<double>(size * size * size));
}

}  // namespace

double measure_compute_peak(device::Stream& stream, kernels::MatMulPrecision precision) {
  constexpr int64_t kLargeOnGpu = 4096;
  constexpr int64_t kLargeOnCpu = 512;
  const NoFaults measuring;
  double peak = measure_arithmetic(stream);
  const device::DeviceInfo& info = stream.device().info();
  const bool has_room = info.memory_bytes == 0 || info.memory_bytes >= int64_t{1} << 30;
  if (precision != kernels::MatMulPrecision::Highest && info.is_hardware_gpu() && has_room)
    peak = std::max(peak, measure_product(stream, precision, kLargeOnGpu));
  // The BLAS may use wider vectors than the compiler does.
  if (info.backend == device::Backend::Cpu) peak = std::max(peak, measure_product(stream, precision, kLargeOnCpu));
  stream.device().trim();
  return peak;
}

}  // namespace athanor::train
