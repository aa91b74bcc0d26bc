// relu for the CPU device: vectorised loops, shared among the workers in fixed chunks.
#include "device/cpu/simd.h"
#include "kernels/relu/relu_internal.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

constexpr int64_t kValuesPerChunk = 16384;  // 64 KiB an operand: small against a core's L2

// Asked for what is to become zero, so that NaN passes.
ATHANOR_SIMD_CLONES
void relu_values(const float* x, float* out, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = x[i] < 0 ? 0.0F : x[i];
}

ATHANOR_SIMD_CLONES
void gradient_values(const float* d_out, const float* x, float* d_x, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) d_x[i] = x[i] <= 0 ? 0.0F : d_out[i];
}

}  // namespace

void relu_cpu(device::cpu::CpuStream& stream, const Relu& args) {
  const float* x = data<float>(args.x);
  float* out = data<float>(args.out);
  stream.threads().parallel_for(args.count, kValuesPerChunk, [&](int64_t begin, int64_t end, int) {
    relu_values(x + begin, out + begin, end - begin);
  });
}

void relu_backward_cpu(device::cpu::CpuStream& stream, const ReluBackward& args) {
  const float* d_out = data<float>(args.d_out);
  const float* x = data<float>(args.x);
  float* d_x = data<float>(args.d_x);
  stream.threads().parallel_for(args.count, kValuesPerChunk, [&](int64_t begin, int64_t end, int) {
    gradient_values(d_out + begin, x + begin, d_x + begin, end - begin);
  });
}

}  // namespace athanor::kernels
