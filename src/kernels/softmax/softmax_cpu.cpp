// softmax for the CPU device: rows shared among the workers; a row's maximum, its exponentials with their sum, then the scaling, each a
// vectorised pass over a row that stays in the core's cache.
#include <algorithm>

#include "device/cpu/simd.h"
#include "kernels/softmax/softmax_internal.h"

namespace athanor::kernels {

using device::cpu::data;
using device::cpu::exp_fast;

namespace {

constexpr float kMasked = kMaskedValue / 2;

// About 64 KiB of values a chunk, so that short rows do not drown in the cost of chunks. A function of the shape alone.
int64_t rows_per_chunk(int64_t columns) { return std::max<int64_t>(1, 16384 / columns); }

ATHANOR_SIMD_CLONES
float row_maximum(const float* x, int64_t count) {
  float largest = x[0];
#pragma omp simd reduction(max : largest)
  for (int64_t i = 0; i < count; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

// out may be x.
ATHANOR_SIMD_CLONES
float write_exponentials(const float* x, float* out, int64_t count, float largest) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) {
    const float exponential = exp_fast(x[i] - largest);
    const float value = x[i] <= kMasked ? 0.0F : exponential;
    out[i] = value;
    sum += value;
  }
  return sum;
}

ATHANOR_SIMD_CLONES
void scale_values(float* x, int64_t count, float factor) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) x[i] *= factor;
}

ATHANOR_SIMD_CLONES
void gradient_row(const float* d_out, const float* out, float* d_x, int64_t count) {
  float dot = 0;
#pragma omp simd reduction(+ : dot)
  for (int64_t i = 0; i < count; ++i) dot += d_out[i] * out[i];
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) d_x[i] = out[i] * (d_out[i] - dot);
}

}  // namespace

void softmax_cpu(device::cpu::CpuStream& stream, const Softmax& args) {
  const float* x = data<float>(args.x);
  float* out = data<float>(args.out);
  const int64_t columns = args.columns;
  stream.threads().parallel_for(args.rows, rows_per_chunk(columns), [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      const float* x_row = x + row * columns;
      float* out_row = out + row * columns;
      const float sum = write_exponentials(x_row, out_row, columns, row_maximum(x_row, columns));
      if (sum != 0) scale_values(out_row, columns, 1.0F / sum);  // 0: all masked, and zeros are what is there
    }
  });
}

void softmax_backward_cpu(device::cpu::CpuStream& stream, const SoftmaxBackward& args) {
  const float* d_out = data<float>(args.d_out);
  const float* out = data<float>(args.out);
  float* d_x = data<float>(args.d_x);
  const int64_t columns = args.columns;
  stream.threads().parallel_for(args.rows, rows_per_chunk(columns), [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t start = row * columns;
      gradient_row(d_out + start, out + start, d_x + start, columns);
    }
  });
}

}  // namespace athanor::kernels
