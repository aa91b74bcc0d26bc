// gradient_scale and clip_grad_by_norm for the CPU device: one vectorised loop, shared among the workers in fixed chunks.
#include "device/cpu/simd.h"
#include "kernels/gradient_scale/gradient_scale_internal.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

constexpr int64_t kValuesPerChunk = 16384;  // 64 KiB: small against a core's L2, large against the cost of a chunk

ATHANOR_SIMD_CLONES
void scale_values(float* values, int64_t count, float factor) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) values[i] *= factor;
}

void scale_all(device::cpu::CpuStream& stream, float* values, int64_t count, float factor) {
  stream.threads().parallel_for(count, kValuesPerChunk, [&](int64_t begin, int64_t end, int) {
    scale_values(values + begin, end - begin, factor);
  });
}

}  // namespace

void gradient_scale_cpu(device::cpu::CpuStream& stream, const GradientScale& args) {
  scale_all(stream, data<float>(args.gradients), args.count, args.factor);
}

void clip_grad_by_norm_cpu(device::cpu::CpuStream& stream, const ClipGrad& args) {
  const float* stats = data<float>(args.stats);
  if (stats[2] != 0 || stats[1] == 1) return;
  scale_all(stream, data<float>(args.gradients), args.count, stats[1]);
}

}  // namespace athanor::kernels
