// conv1d for the CPU device: rows (of one batch entry and channel) shared among the workers; within a row all but its two ends is one
// vectorised loop.
#include <algorithm>
#include <array>
#include <vector>

#include "device/cpu/simd.h"
#include "kernels/conv1d/conv1d_internal.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

// About 64 KiB of values a chunk. A function of the shape alone.
int64_t rows_per_chunk(int64_t length) { return std::max<int64_t>(1, 16384 / length); }

/// out[s] = bias + a x[s - 1] + b x[s] + c x[s + 1].
ATHANOR_SIMD_CLONES
void convolve_row(const float* x, float* out, int64_t length, float bias, float a, float b, float c) {
  if (length == 1) {
    out[0] = bias + b * x[0];
    return;
  }
  out[0] = bias + b * x[0] + c * x[1];
#pragma omp simd
  for (int64_t s = 1; s < length - 1; ++s) out[s] = bias + a * x[s - 1] + b * x[s] + c * x[s + 1];
  out[length - 1] = bias + a * x[length - 2] + b * x[length - 1];
}

/// Sums of d_out[s] times x[s - 1], x[s], x[s + 1] and 1.
ATHANOR_SIMD_CLONES
std::array<float, 4> row_sums(const float* d_out, const float* x, int64_t length) {
  float before = 0;
  float middle = 0;
  float after = 0;
  float plain = 0;
#pragma omp simd reduction(+ : before)
  for (int64_t s = 1; s < length; ++s) before += d_out[s] * x[s - 1];
#pragma omp simd reduction(+ : after)
  for (int64_t s = 0; s < length - 1; ++s) after += d_out[s] * x[s + 1];
#pragma omp simd reduction(+ : middle, plain)
  for (int64_t s = 0; s < length; ++s) {
    middle += d_out[s] * x[s];
    plain += d_out[s];
  }
  return {before, middle, after, plain};
}

/// d_weight and d_bias (+)= the sums of a channel's rows, batch entry by batch entry.
void sum_batch(const Conv1dBackward& args, const std::vector<std::array<float, 4>>& sums) {
  float* d_weight = args.d_weight ? data<float>(args.d_weight) : nullptr;
  float* d_bias = args.d_bias ? data<float>(args.d_bias) : nullptr;
  const bool adds = args.accumulate == Accumulate::Yes;
  for (int64_t d = 0; d < args.channels; ++d) {
    std::array<float, 4> total{};
    for (int64_t b = 0; b < args.batch; ++b) {
      for (size_t k = 0; k < 4; ++k) total[k] += sums[static_cast<size_t>(b * args.channels + d)][k];
    }
    for (int64_t k = 0; d_weight != nullptr && k < 3; ++k) {
      d_weight[d * 3 + k] = (adds ? d_weight[d * 3 + k] : 0) + total[static_cast<size_t>(k)];
    }
    if (d_bias != nullptr) d_bias[d] = (adds ? d_bias[d] : 0) + total[3];
  }
}

}  // namespace

void conv1d_cpu(device::cpu::CpuStream& stream, const Conv1d& args) {
  const float* x = data<float>(args.x);
  const float* weight = data<float>(args.weight);
  const float* bias = data<float>(args.bias);
  float* out = data<float>(args.out);
  const int64_t rows = args.batch * args.channels;
  stream.threads().parallel_for(rows, rows_per_chunk(args.length), [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t d = row % args.channels;
      const float* w = weight + d * 3;
      convolve_row(x + row * args.length, out + row * args.length, args.length, bias[d], w[0], w[1], w[2]);
    }
  });
}

void conv1d_backward_cpu(device::cpu::CpuStream& stream, const Conv1dBackward& args) {
  const float* d_out = data<float>(args.d_out);
  const float* x = data<float>(args.x);
  const float* weight = data<float>(args.weight);
  float* d_x = args.d_x ? data<float>(args.d_x) : nullptr;
  const bool needs_sums = args.d_weight || args.d_bias;
  const int64_t rows = args.batch * args.channels;
  std::vector<std::array<float, 4>> sums(needs_sums ? static_cast<size_t>(rows) : 0);
  stream.threads().parallel_for(rows, rows_per_chunk(args.length), [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      const float* d_row = d_out + row * args.length;
      // The same convolution with the weights turned round.
      const float* w = weight + row % args.channels * 3;
      if (d_x != nullptr) convolve_row(d_row, d_x + row * args.length, args.length, 0, w[2], w[1], w[0]);
      if (needs_sums) sums[static_cast<size_t>(row)] = row_sums(d_row, x + row * args.length, args.length);
    }
  });
  if (needs_sums) sum_batch(args, sums);
}

}  // namespace athanor::kernels
