// silu_gate for the CPU device: vectorised loops with our own exp, shared among the workers in fixed chunks.
#include "device/cpu/simd.h"
#include "kernels/silu_gate/silu_gate_internal.h"

namespace athanor::kernels {

using device::cpu::data;
using device::cpu::exp_fast;
using device::cpu::silu_fast;

namespace {

constexpr int64_t kValuesPerChunk = 8192;

ATHANOR_SIMD_CLONES
void gate_values(const float* gate, const float* up, float* out, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = silu_fast(gate[i]) * up[i];
}

ATHANOR_SIMD_CLONES
void gradient_values(const float* d_out, const float* gate, const float* up, float* d_gate, float* d_up,
                     int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float e = exp_fast(-gate[i]);
    const float s = 1.0F / (1.0F + e);
    const float silu = gate[i] * s;
    const float d = d_out[i];
    d_gate[i] = d * up[i] * (s + silu * (e * s));  // 1 - s is e * s, in which no digits cancel
    d_up[i] = d * silu;
  }
}

}  // namespace

void silu_gate_cpu(device::cpu::CpuStream& stream, const SiluGate& args) {
  const float* gate = data<float>(args.gate);
  const float* up = data<float>(args.up);
  float* out = data<float>(args.out);
  stream.threads().parallel_for(args.count, kValuesPerChunk, [&](int64_t begin, int64_t end, int) {
    gate_values(gate + begin, up + begin, out + begin, end - begin);
  });
}

void silu_gate_backward_cpu(device::cpu::CpuStream& stream, const SiluGateBackward& args) {
  const float* d_out = data<float>(args.d_out);
  const float* gate = data<float>(args.gate);
  const float* up = data<float>(args.up);
  float* d_gate = data<float>(args.d_gate);
  float* d_up = data<float>(args.d_up);
  stream.threads().parallel_for(args.count, kValuesPerChunk, [&](int64_t begin, int64_t end, int) {
    gradient_values(d_out + begin, gate + begin, up + begin, d_gate + begin, d_up + begin, end - begin);
  });
}

}  // namespace athanor::kernels
