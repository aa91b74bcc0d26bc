// silu for the CPU device: vectorised loops with our own exp, shared among the workers in fixed chunks.
#include "device/cpu/simd.h"
#include "kernels/silu/silu_internal.h"

namespace athanor::kernels {

using device::cpu::data;
using device::cpu::exp_fast;
using device::cpu::silu_fast;

namespace {

constexpr int64_t kValuesPerChunk = 8192;

ATHANOR_SIMD_CLONES
void silu_values(const float* x, float* out, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = silu_fast(x[i]);
}

ATHANOR_SIMD_CLONES
void gradient_values(const float* d_out, const float* x, float* d_x, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float e = exp_fast(-x[i]);
    const float s = 1.0F / (1.0F + e);
    d_x[i] = d_out[i] * (s + x[i] * s * (e * s));  // 1 - s is e * s, in which no digits cancel
  }
}

}  // namespace

void silu_cpu(device::cpu::CpuStream& stream, const Silu& args) {
  const float* x = data<float>(args.x);
  float* out = data<float>(args.out);
  stream.threads().parallel_for(args.count, kValuesPerChunk, [&](int64_t begin, int64_t end, int) {
    silu_values(x + begin, out + begin, end - begin);
  });
}

void silu_backward_cpu(device::cpu::CpuStream& stream, const SiluBackward& args) {
  const float* d_out = data<float>(args.d_out);
  const float* x = data<float>(args.x);
  float* d_x = data<float>(args.d_x);
  stream.threads().parallel_for(args.count, kValuesPerChunk, [&](int64_t begin, int64_t end, int) {
    gradient_values(d_out + begin, x + begin, d_x + begin, end - begin);
  });
}

}  // namespace athanor::kernels
