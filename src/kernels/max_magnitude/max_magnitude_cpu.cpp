// max_magnitude for the CPU device: the largest of integers, by chunks that the workers share.
#include "device/cpu/simd.h"
#include "kernels/max_magnitude/max_magnitude_internal.h"

#include <algorithm>
#include <vector>

namespace athanor::kernels {

namespace {

constexpr int64_t kChunk = 64 << 10;  // values

/// Without its sign, the bits of an f32 grow with its value; as a signed number, which every processor compares in vectors.
ATHANOR_SIMD_CLONES
int32_t largest_magnitude(const int32_t* bits, int64_t count) {
  int32_t largest = 0;
#pragma omp simd reduction(max : largest)
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, bits[i] & 0x7fffffff);
  return largest;
}

}  // namespace

void max_magnitude_cpu(device::cpu::CpuStream& stream, const MaxMagnitude& args) {
  constexpr int32_t kBias = 127;
  constexpr int32_t kTarget = 14;
  const int32_t* values = device::cpu::data<int32_t>(args.values);
  std::vector<int32_t> maxima(static_cast<size_t>(ceil_div(args.count, kChunk)));
  stream.threads().parallel_for(args.count, kChunk, [&](int64_t begin, int64_t end, int) {
    maxima[static_cast<size_t>(begin / kChunk)] = largest_magnitude(values + begin, end - begin);
  });
  const int32_t exponent = *std::max_element(maxima.begin(), maxima.end()) >> 23;
  const bool usual = exponent != 0 && exponent != 255;
  const int32_t power = usual ? std::min(2 * kBias + kTarget - exponent, 253) : kBias;
  int32_t* scale = device::cpu::data<int32_t>(args.scale);
  scale[0] = power << 23;
  scale[1] = (2 * kBias - power) << 23;
}

}  // namespace athanor::kernels
