// rms_norm for the CPU device: rows shared among the workers, each row in two vectorised passes.
#include <algorithm>

#include "device/cpu/simd.h"
#include "kernels/rms_norm/rms_norm_internal.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

constexpr int64_t kRowsPerChunk = 16;
constexpr int64_t kRowsPerBlock = 64;  // that a partial sum of d_weight covers

ATHANOR_SIMD_CLONES
float inverse_rms(const float* x, int64_t columns, float eps) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t c = 0; c < columns; ++c) sum += x[c] * x[c];
  return 1.0F / std::sqrt(sum / static_cast<float>(columns) + eps);
}

ATHANOR_SIMD_CLONES
void scale_row(const float* x, const float* weight, float* out, int64_t columns, float inverse, float offset) {
#pragma omp simd
  for (int64_t c = 0; c < columns; ++c) out[c] = x[c] * inverse * (weight[c] + offset);
}

ATHANOR_SIMD_CLONES
float gradient_dot(const float* d_out, const float* x, const float* weight, int64_t columns, float offset) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t c = 0; c < columns; ++c) sum += d_out[c] * (weight[c] + offset) * x[c];
  return sum;
}

ATHANOR_SIMD_CLONES
void gradient_row(const float* d_out, const float* x, const float* weight, float* d_x, int64_t columns, float inverse,
                  float correction, float offset) {
#pragma omp simd
  for (int64_t c = 0; c < columns; ++c) d_x[c] = inverse * d_out[c] * (weight[c] + offset) - x[c] * correction;
}

ATHANOR_SIMD_CLONES
void add_weight_row(const float* d_out, const float* x, float* sum, int64_t columns, float inverse) {
#pragma omp simd
  for (int64_t c = 0; c < columns; ++c) sum[c] += d_out[c] * x[c] * inverse;
}

ATHANOR_SIMD_CLONES
void add_rows(const float* a, const float* b, float* out, int64_t count) {
#pragma omp simd
  for (int64_t c = 0; c < count; ++c) out[c] = a[c] + b[c];
}

}  // namespace

void rms_norm_cpu(device::cpu::CpuStream& stream, const RmsNorm& args, const float* residual, float* y) {
  const float* x = data<float>(args.x);
  const float* weight = data<float>(args.weight);
  float* out = data<float>(args.out);
  const int64_t columns = args.columns;
  stream.threads().parallel_for(args.rows, kRowsPerChunk, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t start = row * columns;
      if (y != nullptr) add_rows(x + start, residual + start, y + start, columns);
      const float* normed = (y != nullptr ? y : x) + start;
      const float inverse = inverse_rms(normed, columns, args.eps);
      scale_row(normed, weight, out + start, columns, inverse, args.weight_offset);
    }
  });
}

void rms_norm_backward_cpu(device::cpu::CpuStream& stream, const RmsNormBackward& args, const float* d_y) {
  const int64_t columns = args.columns;
  const int64_t blocks = ceil_div(args.rows, kRowsPerBlock);
  const float* d_out = data<float>(args.d_out);
  const float* x = data<float>(args.x);
  const float* weight = data<float>(args.weight);
  float* d_x = args.d_x ? data<float>(args.d_x) : nullptr;
  Buffer partial_buffer;
  float* partial = nullptr;
  if (args.d_weight && blocks > 0) {
    partial_buffer = stream.device().allocate(blocks * columns * 4, "rms_norm_backward partial sums");
    partial = data<float>(partial_buffer);
  }
  stream.threads().parallel_for(blocks, 1, [&](int64_t block, int64_t, int) {
    float* sum = partial == nullptr ? nullptr : partial + block * columns;
    if (sum != nullptr) std::fill(sum, sum + columns, 0.0F);
    const int64_t end = std::min(args.rows, (block + 1) * kRowsPerBlock);
    for (int64_t row = block * kRowsPerBlock; row < end; ++row) {
      const float* x_row = x + row * columns;
      const float* d_row = d_out + row * columns;
      const float inverse = inverse_rms(x_row, columns, args.eps);
      if (sum != nullptr) add_weight_row(d_row, x_row, sum, columns, inverse);
      if (d_x != nullptr) {
        const float dot = gradient_dot(d_row, x_row, weight, columns, args.weight_offset);
        const float correction = dot / static_cast<float>(columns) * inverse * inverse * inverse;
        float* d_x_row = d_x + row * columns;
        gradient_row(d_row, x_row, weight, d_x_row, columns, inverse, correction, args.weight_offset);
        if (d_y != nullptr) add_rows(d_x_row, d_y + row * columns, d_x_row, columns);
      }
    }
  });
  if (!args.d_weight) return;
  float* d_weight = data<float>(args.d_weight);
  if (!args.accumulate_weight) std::fill(d_weight, d_weight + columns, 0.0F);
  for (int64_t block = 0; block < blocks; ++block) {
    const float* sum = partial + block * columns;
    for (int64_t c = 0; c < columns; ++c) d_weight[c] += sum[c];
  }
}

}  // namespace athanor::kernels
