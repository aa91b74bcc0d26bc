// max_magnitude for the CPU device: the largest of integers, by chunks that the workers share.
#include "device/cpu/simd.h"
#include "kernels/max_magnitude/max_magnitude_internal.h"

#include <algorithm>
#include <bit>
#include <cmath>
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

std::array<float, 2> scale_of_magnitude(float largest) {
  constexpr uint32_t kBias = 127;
  constexpr uint32_t kTarget = 14;
  const uint32_t exponent = std::bit_cast<uint32_t>(std::abs(largest)) >> 23;
  const bool usual = exponent != 0 && exponent != 255;
  const uint32_t power = usual ? std::min(2 * kBias + kTarget - exponent, 253U) : kBias;
  return {std::bit_cast<float>(power << 23), std::bit_cast<float>((2 * kBias - power) << 23)};
}

void max_magnitude_cpu(device::cpu::CpuStream& stream, const MaxMagnitude& args) {
  const int32_t* values = device::cpu::data<int32_t>(args.values);
  std::vector<int32_t> maxima(static_cast<size_t>(ceil_div(args.count, kChunk)));
  stream.threads().parallel_for(args.count, kChunk, [&](int64_t begin, int64_t end, int) {
    maxima[static_cast<size_t>(begin / kChunk)] = largest_magnitude(values + begin, end - begin);
  });
  const auto scale = scale_of_magnitude(std::bit_cast<float>(*std::max_element(maxima.begin(), maxima.end())));
  std::copy(scale.begin(), scale.end(), device::cpu::data<float>(args.scale));
}

}  // namespace athanor::kernels
