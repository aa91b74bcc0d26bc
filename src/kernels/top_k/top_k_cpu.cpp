// top_k for the CPU device: a value and its index become one integer whose order is the one asked for, so that selecting and sorting
// are the library's on plain integers.
#include "kernels/top_k/top_k_internal.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <vector>

namespace athanor::kernels {

using device::cpu::data;

namespace {

/// Larger for a larger value; -0 counts as 0.
uint32_t order_of(float value) {
  const auto bits = std::bit_cast<uint32_t>(value == 0 ? 0.0F : value);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

void top_k_row(const float* x, float* values, uint32_t* indices, int64_t columns, int64_t k,
               std::vector<uint64_t>& entries) {
  entries.resize(static_cast<size_t>(columns));
  for (int64_t i = 0; i < columns; ++i) {
    entries[i] = static_cast<uint64_t>(order_of(x[i])) << 32 | (0xffffffffU - static_cast<uint32_t>(i));
  }
  const auto last = entries.begin() + k;
  if (k < columns) std::nth_element(entries.begin(), last - 1, entries.end(), std::greater<>());
  std::sort(entries.begin(), last, std::greater<>());
  for (int64_t i = 0; i < k; ++i) {
    indices[i] = 0xffffffffU - static_cast<uint32_t>(entries[i]);
    values[i] = x[indices[i]];
  }
}

}  // namespace

void top_k_cpu(device::cpu::CpuStream& stream, const TopK& args) {
  const float* x = data<float>(args.x);
  float* values = data<float>(args.values);
  uint32_t* indices = data<uint32_t>(args.indices);
  stream.threads().parallel_for(args.rows, 1, [&](int64_t begin, int64_t end, int) {
    std::vector<uint64_t> entries;
    for (int64_t row = begin; row < end; ++row) {
      top_k_row(x + row * args.columns, values + row * args.k, indices + row * args.k, args.columns, args.k, entries);
    }
  });
}

}  // namespace athanor::kernels
