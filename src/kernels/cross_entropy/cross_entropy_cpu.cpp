// cross_entropy for the CPU device: rows shared among the workers; a row's maximum, then its exponentials with their sum, then the
// scaling, each a vectorised pass over a row that stays in the core's cache.
#include <cmath>

#include "device/cpu/simd.h"
#include "kernels/cross_entropy/cross_entropy_internal.h"

namespace athanor::kernels {

using device::cpu::data;
using device::cpu::exp_fast;

namespace {

// About 64 KiB of logits a chunk, so that short rows do not drown in the cost of chunks. A function of the shape alone.
int64_t rows_per_chunk(int64_t vocabulary) { return std::max<int64_t>(1, 16384 / vocabulary); }

ATHANOR_SIMD_CLONES
float row_maximum(const float* x, int64_t count) {
  float largest = x[0];
#pragma omp simd reduction(max : largest)
  for (int64_t i = 0; i < count; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

ATHANOR_SIMD_CLONES
float sum_of_exponentials(const float* x, int64_t count, float largest) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += exp_fast(x[i] - largest);
  return sum;
}

// out may be x.
ATHANOR_SIMD_CLONES
float write_exponentials(const float* x, float* out, int64_t count, float largest) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) {
    const float value = exp_fast(x[i] - largest);
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

// Writes the row's gradient and returns its loss; d_logits may be logits.
float gradient_row(const float* logits, float* d_logits, int64_t vocabulary, int32_t target, float scale) {
  if (target < 0 || target >= vocabulary) {
    std::fill(d_logits, d_logits + vocabulary, 0.0F);
    return 0;
  }
  const float largest = row_maximum(logits, vocabulary);
  const float below = largest - logits[target];
  const float sum = write_exponentials(logits, d_logits, vocabulary, largest);
  scale_values(d_logits, vocabulary, scale / sum);
  d_logits[target] -= scale;
  return std::log(sum) + below;
}

}  // namespace

void cross_entropy_cpu(device::cpu::CpuStream& stream, const CrossEntropy& args) {
  const float* logits = data<float>(args.logits);
  const int32_t* targets = data<int32_t>(args.targets);
  float* losses = data<float>(args.losses);
  const int64_t vocabulary = args.vocabulary;
  stream.threads().parallel_for(args.rows, rows_per_chunk(vocabulary), [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      const float* x = logits + row * vocabulary;
      losses[row] = 0;
      if (targets[row] < 0 || targets[row] >= vocabulary) continue;
      const float largest = row_maximum(x, vocabulary);
      losses[row] = std::log(sum_of_exponentials(x, vocabulary, largest)) + (largest - x[targets[row]]);
    }
  });
}

void cross_entropy_backward_cpu(device::cpu::CpuStream& stream, const CrossEntropyBackward& args) {
  const float* logits = data<float>(args.logits);
  const int32_t* targets = data<int32_t>(args.targets);
  float* d_logits = data<float>(args.d_logits);
  const int64_t vocabulary = args.vocabulary;
  stream.threads().parallel_for(args.rows, rows_per_chunk(vocabulary), [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      gradient_row(logits + row * vocabulary, d_logits + row * vocabulary, vocabulary, targets[row], args.scale);
    }
  });
}

void cross_entropy_in_place_cpu(device::cpu::CpuStream& stream, const CrossEntropyFused& args) {
  float* logits = data<float>(args.logits_to_gradient);
  const int32_t* targets = data<int32_t>(args.targets);
  float* losses = data<float>(args.losses);
  const int64_t vocabulary = args.vocabulary;
  stream.threads().parallel_for(args.rows, rows_per_chunk(vocabulary), [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      float* x = logits + row * vocabulary;
      losses[row] = gradient_row(x, x, vocabulary, targets[row], args.scale);
    }
  });
}

}  // namespace athanor::kernels
