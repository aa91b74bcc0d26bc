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

double measure_arithmetic(device::Stream& stream) {
  const device::DeviceInfo& info = stream.device().info();
  const bool is_fast = info.backend == device::Backend::WebGpu && !info.is_software;
  kernels::ArithmeticPeak args;
  args.count = is_fast ? 1 << 20 : 1 << 14;  // as many threads as a large device runs at once
  args.out = stream.device().allocate(args.count * 4, "arithmetic_peak out");
  args.rounds = 64;
  seconds_of(stream, [&] { kernels::arithmetic_peak(stream, args); });  // compiles
  constexpr int64_t kMostRounds = 1 << 16;
  double best = 0;
  for (double seconds = 0; seconds < kLongEnough && args.rounds <= kMostRounds; args.rounds *= 2) {
    const double flops = 2.0 * static_cast<double>(kernels::kArithmeticChains * args.rounds * args.count);
    seconds = seconds_of(stream, [&] { kernels::arithmetic_peak(stream, args); });
    best = std::max(best, flops / seconds);
  }
  return best;
}

double measure_product(device::Stream& stream, kernels::MatMulPrecision precision) {
  constexpr int64_t kSize = 4096;
  constexpr int kMostLaunches = 64;
  const std::vector<float> values(static_cast<size_t>(kSize * kSize),
                                  0.5F);  // zeros would draw less power than numbers
  const auto make = [&](std::string_view label) {
    device::Buffer buffer = stream.device().allocate(kSize * kSize * 4, label);
    stream.upload(buffer, std::as_bytes(std::span(values)));
    return buffer;
  };
  device::Buffer x_scale;
  device::Buffer w_scale;
  kernels::MatMul args{make("x"), make("w"), make("product"), kSize, kSize, kSize};
  args.precision = precision;
  args.x_scale = &x_scale;
  args.w_scale = &w_scale;
  seconds_of(stream, [&] { kernels::matmul(stream, args); });  // compiles, measures the scales
  double best = 0;
  double seconds = 0;
  for (int launches = 1; seconds < kLongEnough && launches <= kMostLaunches; launches *= 2) {
    seconds = seconds_of(stream, [&] {
      for (int i = 0; i < launches; ++i) kernels::matmul(stream, args);
    });
    best = std::max(best, 2.0 * static_cast<double>(launches * kSize * kSize * kSize) / seconds);
  }
  return best;
}

}  // namespace

double measure_compute_peak(device::Stream& stream, kernels::MatMulPrecision precision) {
  const NoFaults measuring;
  double peak = measure_arithmetic(stream);
  const device::DeviceInfo& info = stream.device().info();
  const bool has_room = info.memory_bytes == 0 || info.memory_bytes >= int64_t{1} << 30;
  const bool is_gpu = info.backend == device::Backend::WebGpu && !info.is_software;
  if (precision != kernels::MatMulPrecision::Highest && is_gpu && has_room)
    peak = std::max(peak, measure_product(stream, precision));
  stream.device().trim();
  return peak;
}

}  // namespace athanor::train
