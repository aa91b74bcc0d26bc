// gelu for the CPU device: a vectorised loop a form, shared among the workers in fixed chunks.
#include "kernels/gelu/gelu_internal.h"
#include "kernels/gelu/gelu_values.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

constexpr int64_t kValuesPerChunk = 8192;

ATHANOR_SIMD_CLONES
void erf_values(const float* x, float* out, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = x[i] * gelu_erf_value(x[i]).share;
}

ATHANOR_SIMD_CLONES
void tanh_values(const float* x, float* out, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = x[i] * gelu_tanh_value(x[i]).share;
}

ATHANOR_SIMD_CLONES
void erf_gradients(const float* d_out, const float* x, float* d_x, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) d_x[i] = d_out[i] * gelu_erf_value(x[i]).slope;
}

ATHANOR_SIMD_CLONES
void tanh_gradients(const float* d_out, const float* x, float* d_x, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) d_x[i] = d_out[i] * gelu_tanh_value(x[i]).slope;
}

}  // namespace

void gelu_cpu(device::cpu::CpuStream& stream, const Gelu& args) {
  const float* x = data<float>(args.x);
  float* out = data<float>(args.out);
  const auto values = args.form == GeluForm::Erf ? erf_values : tanh_values;
  stream.threads().parallel_for(args.count, kValuesPerChunk,
                                [&](int64_t begin, int64_t end, int) { values(x + begin, out + begin, end - begin); });
}

void gelu_backward_cpu(device::cpu::CpuStream& stream, const GeluBackward& args) {
  const float* d_out = data<float>(args.d_out);
  const float* x = data<float>(args.x);
  float* d_x = data<float>(args.d_x);
  const auto gradients = args.form == GeluForm::Erf ? erf_gradients : tanh_gradients;
  stream.threads().parallel_for(args.count, kValuesPerChunk, [&](int64_t begin, int64_t end, int) {
    gradients(d_out + begin, x + begin, d_x + begin, end - begin);
  });
}

}  // namespace athanor::kernels
