// gelu_gate for the CPU device: a vectorised loop a form, shared among the workers in fixed chunks.
#include "kernels/gelu/gelu_values.h"
#include "kernels/gelu_gate/gelu_gate_internal.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

constexpr int64_t kValuesPerChunk = 8192;

ATHANOR_SIMD_CLONES
void erf_values(const float* gate, const float* up, float* out, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = gate[i] * gelu_erf_value(gate[i]).share * up[i];
}

ATHANOR_SIMD_CLONES
void tanh_values(const float* gate, const float* up, float* out, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = gate[i] * gelu_tanh_value(gate[i]).share * up[i];
}

ATHANOR_SIMD_CLONES
void erf_gradients(const float* d_out, const float* gate, const float* up, float* d_gate, float* d_up, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const GeluValue gelu = gelu_erf_value(gate[i]);
    const float gradient = d_out[i];
    d_gate[i] = gradient * up[i] * gelu.slope;
    d_up[i] = gradient * gate[i] * gelu.share;
  }
}

ATHANOR_SIMD_CLONES
void tanh_gradients(const float* d_out, const float* gate, const float* up, float* d_gate, float* d_up, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const GeluValue gelu = gelu_tanh_value(gate[i]);
    const float gradient = d_out[i];
    d_gate[i] = gradient * up[i] * gelu.slope;
    d_up[i] = gradient * gate[i] * gelu.share;
  }
}

}  // namespace

void gelu_gate_cpu(device::cpu::CpuStream& stream, const GeluGate& args) {
  const float* gate = data<float>(args.gate);
  const float* up = data<float>(args.up);
  float* out = data<float>(args.out);
  const auto values = args.form == GeluForm::Erf ? erf_values : tanh_values;
  stream.threads().parallel_for(args.count, kValuesPerChunk, [&](int64_t begin, int64_t end, int) {
    values(gate + begin, up + begin, out + begin, end - begin);
  });
}

void gelu_gate_backward_cpu(device::cpu::CpuStream& stream, const GeluGateBackward& args) {
  const float* d_out = data<float>(args.d_out);
  const float* gate = data<float>(args.gate);
  const float* up = data<float>(args.up);
  float* d_gate = data<float>(args.d_gate);
  float* d_up = data<float>(args.d_up);
  const auto gradients = args.form == GeluForm::Erf ? erf_gradients : tanh_gradients;
  stream.threads().parallel_for(args.count, kValuesPerChunk, [&](int64_t begin, int64_t end, int) {
    gradients(d_out + begin, gate + begin, up + begin, d_gate + begin, d_up + begin, end - begin);
  });
}

}  // namespace athanor::kernels
