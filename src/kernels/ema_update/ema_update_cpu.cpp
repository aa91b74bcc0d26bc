// ema_update for the CPU device: one vectorised loop, shared among the workers in fixed chunks.
#include "device/cpu/simd.h"
#include "kernels/ema_update/ema_update_internal.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

constexpr int64_t kValuesPerChunk =
    16384;  // 64 KiB an operand: small against a core's L2, large against the cost of a chunk

ATHANOR_SIMD_CLONES
void update_values(float* ema, const float* w, int64_t count, float decay, float one_minus_decay) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) ema[i] = decay * ema[i] + one_minus_decay * w[i];
}

}  // namespace

void ema_update_cpu(device::cpu::CpuStream& stream, const EmaUpdate& args) {
  if (args.stats && data<float>(args.stats)[2] != 0) return;
  float* ema = data<float>(args.ema);
  const float* w = data<float>(args.weights);
  stream.threads().parallel_for(args.count, kValuesPerChunk, [&](int64_t begin, int64_t end, int) {
    update_values(ema + begin, w + begin, end - begin, args.decay, args.one_minus_decay);
  });
}

}  // namespace athanor::kernels
