// Operands for `bench kernels`: large, without drawing each value on the host.
#pragma once

#include "kernels/compare.h"

#include <algorithm>

namespace athanor::kernels {

/// A buffer of `count` values: a block of normal ones drawn once, repeated by copies on the device.
inline device::Buffer bench_values(device::Stream& stream, int64_t count, uint32_t seed, float scale = 1.0F) {
  constexpr int64_t kBlock = 65536;
  const device::Buffer block = upload_values(stream, test_values(std::min(count, kBlock), seed, scale));
  const device::Buffer values = stream.device().allocate(count * 4, "bench values");
  for (int64_t start = 0; start < count; start += kBlock) {
    const int64_t bytes = std::min(kBlock, count - start) * 4;
    stream.copy(block.slice(0, bytes), values.slice(start * 4, bytes));
  }
  return values;
}

}  // namespace athanor::kernels
