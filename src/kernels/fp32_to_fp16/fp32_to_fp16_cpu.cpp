// fp32_to_fp16 and fp16_to_fp32 for the CPU device: integer loops without branches, which vectorise, shared among the workers.
#include "device/cpu/simd.h"
#include "kernels/fp32_to_fp16/fp32_to_fp16_internal.h"
#include "kernels/fp32_to_fp16/half.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

constexpr int64_t kWordsPerChunk = 8192;  // 64 KiB of f32

ATHANOR_SIMD_CLONES
void round_pairs(const uint32_t* values, uint32_t* out, int64_t words) {
#pragma omp simd
  for (int64_t i = 0; i < words; ++i) out[i] = half_bits(values[2 * i]) | (half_bits(values[2 * i + 1]) << 16);
}

ATHANOR_SIMD_CLONES
void widen_pairs(const uint32_t* halves, uint32_t* out, int64_t words) {
#pragma omp simd
  for (int64_t i = 0; i < words; ++i) {
    out[2 * i] = float_bits_of_half(halves[i] & 0xffffU);
    out[2 * i + 1] = float_bits_of_half(halves[i] >> 16);
  }
}

}  // namespace

void fp32_to_fp16_cpu(device::cpu::CpuStream& stream, const Fp32ToFp16& args) {
  const uint32_t* values = data<uint32_t>(args.values);
  uint32_t* out = data<uint32_t>(args.out);
  const int64_t pairs = args.count / 2;
  stream.threads().parallel_for(pairs, kWordsPerChunk, [&](int64_t begin, int64_t end, int) {
    round_pairs(values + 2 * begin, out + begin, end - begin);
  });
  if (args.count % 2 != 0) out[pairs] = half_bits(values[args.count - 1]);
}

void fp16_to_fp32_cpu(device::cpu::CpuStream& stream, const Fp16ToFp32& args) {
  const uint32_t* halves = data<uint32_t>(args.halves);
  uint32_t* out = data<uint32_t>(args.out);
  const int64_t pairs = args.count / 2;
  stream.threads().parallel_for(pairs, kWordsPerChunk, [&](int64_t begin, int64_t end, int) {
    widen_pairs(halves + begin, out + 2 * begin, end - begin);
  });
  if (args.count % 2 != 0) out[args.count - 1] = float_bits_of_half(halves[pairs] & 0xffffU);
}

}  // namespace athanor::kernels
