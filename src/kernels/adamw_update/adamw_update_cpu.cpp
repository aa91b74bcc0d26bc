// adamw_update for the CPU device: one vectorised pass over weights, gradients and both moments, shared among the workers in fixed
// chunks; blocks of one tensor are taken together.
#include <cmath>

#include "device/cpu/simd.h"
#include "kernels/adamw_update/adamw_update_internal.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

constexpr int64_t kBlocksPerChunk = 128;  // 8192 elements: 128 KiB of the four slabs
constexpr float kSmallestNormal = 1.17549435e-38F;

struct Step {
  float keep;  // 1 - lr * weight decay
  float lr_corrected;
  float gradient_scale;
  float beta1;
  float beta2;
  float one_minus_beta1;
  float one_minus_beta2;
  float inverse_root_correction2;
  float eps;
};

// Moments of weights without gradients shrink step by step; below the normal range a processor takes a hundred cycles for each, and
// they move nothing, so they end at 0.
ATHANOR_SIMD_CLONES
void update_values(float* w, const float* g, float* m, float* v, int64_t count, const Step& step) {
  const Step s = step;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float gradient = g[i] * s.gradient_scale;
    const float first = s.beta1 * m[i] + s.one_minus_beta1 * gradient;
    const float second = s.beta2 * v[i] + s.one_minus_beta2 * gradient * gradient;
    m[i] = std::abs(first) < kSmallestNormal ? 0.0F : first;
    v[i] = second < kSmallestNormal ? 0.0F : second;
    w[i] = w[i] * s.keep - s.lr_corrected * m[i] / (std::sqrt(v[i]) * s.inverse_root_correction2 + s.eps);
  }
}

// End of the run of whole blocks with one decay that begins at `block`; a block that is not whole is a run of its own.
int64_t end_of_run(const AdamwBlock* table, int64_t block, int64_t end) {
  const AdamwBlock first = table[block];
  int64_t after = block + 1;
  if (first.elements != kAdamwBlock) return after;
  while (after < end && table[after].elements == kAdamwBlock && table[after].weight_decay == first.weight_decay)
    ++after;
  return after;
}

}  // namespace

void adamw_update_cpu(device::cpu::CpuStream& stream, const AdamwUpdate& args) {
  const float* stats = data<float>(args.stats);
  if (stats[2] != 0) return;
  const auto root_correction2 = static_cast<float>(1 / std::sqrt(static_cast<double>(args.bias_correction2)));
  const Step common{1,
                    args.lr / args.bias_correction1,
                    stats[1],
                    args.beta1,
                    args.beta2,
                    args.one_minus_beta1,
                    args.one_minus_beta2,
                    root_correction2,
                    args.eps};
  const AdamwBlock* table = data<AdamwBlock>(args.segments);
  const int64_t blocks = args.segments.size_bytes() / static_cast<int64_t>(sizeof(AdamwBlock));
  float* w = data<float>(args.weights);
  const float* g = data<float>(args.gradients);
  float* m = data<float>(args.m);
  float* v = data<float>(args.v);
  stream.threads().parallel_for(blocks, kBlocksPerChunk, [&](int64_t begin, int64_t end, int) {
    for (int64_t block = begin; block < end;) {
      const int64_t after = end_of_run(table, block, end);
      const int64_t start = block * kAdamwBlock;
      const int64_t count = (after - block - 1) * kAdamwBlock + table[block].elements;
      Step step = common;
      step.keep = 1.0F - args.lr * table[block].weight_decay;
      update_values(w + start, g + start, m + start, v + start, count, step);
      block = after;
    }
  });
}

}  // namespace athanor::kernels
