// Operands of a benchmark: large buffers filled on the device, since making each value on the host would take longer than the benchmark.
#pragma once

#include "kernels/compare.h"

#include <algorithm>

namespace athanor::kernels {

/// `count` f32: up to 2^18 values of a normal distribution times scale, repeated.
inline device::Buffer bench_values(device::Stream& stream, int64_t count, uint32_t seed, float scale = 1.0F) {
  constexpr int64_t kMostDifferent = 1 << 18;
  const device::Buffer pattern = upload_values(stream, test_values(std::min(count, kMostDifferent), seed, scale));
  if (count <= kMostDifferent) return pattern;
  device::Buffer values = stream.device().allocate(count * 4, "benchmark values");
  for (int64_t begin = 0; begin < count; begin += kMostDifferent) {
    const int64_t bytes = std::min(kMostDifferent, count - begin) * 4;
    stream.copy(pattern.slice(0, bytes), values.slice(begin * 4, bytes));
  }
  return values;
}

/// `count` zeros.
inline device::Buffer bench_zeros(device::Stream& stream, int64_t count) {
  device::Buffer values = stream.device().allocate(count * 4, "benchmark values");
  stream.fill_zero(values);
  return values;
}

}  // namespace athanor::kernels
