// adamw_update and adamw_update_f16 for the CPU device: one vectorised pass over weights, gradients and both moments, shared among the
// workers in fixed chunks; the mirror follows while the weights lie in the cache.
#include "device/cpu/simd.h"
#include "kernels/adamw_update/adamw_update_internal.h"
#include "kernels/fp32_to_fp16/half.h"
#include "kernels/segments/segment_runs.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

constexpr float kSmallestNormal = 1.17549435e-38F;

ATHANOR_SIMD_CLONES
void mirror_pairs(const float* weights, uint32_t* mirror, int64_t words) {
#pragma omp simd
  for (int64_t i = 0; i < words; ++i) {
    mirror[i] = half_bits(std::bit_cast<uint32_t>(weights[2 * i])) |
                (half_bits(std::bit_cast<uint32_t>(weights[2 * i + 1])) << 16);
  }
}

/// One step of all segments; after(begin, count) follows each run of elements.
template <typename After>
void update_slab(device::cpu::CpuStream& stream, const AdamwUpdate& args, After after) {
  const float* stats = data<float>(args.stats);
  if (stats[2] != 0) return;
  const AdamwRates rates = adamw_rates(args, stats[1]);
  float* w = data<float>(args.weights);
  const float* g = data<float>(args.gradients);
  float* m = data<float>(args.m);
  float* v = data<float>(args.v);
  for_each_run(stream, args.segments, [&](int64_t begin, int64_t count, float weight_decay) {
    adamw_values(w + begin, g + begin, m + begin, v + begin, count, weight_decay, rates);
    after(begin, count);
  });
}

}  // namespace

AdamwRates adamw_rates(const AdamwStep& step, float clip_scale) {
  return {step.lr,
          step.lr / step.bias_correction1,
          clip_scale,
          step.beta1,
          step.beta2,
          step.one_minus_beta1,
          step.one_minus_beta2,
          static_cast<float>(1 / std::sqrt(static_cast<double>(step.bias_correction2))),
          step.eps};
}

// Moments of weights without gradients shrink step by step; below the normal range a processor takes a hundred cycles for each, and
// they move nothing, so they end at 0.
ATHANOR_SIMD_CLONES
void adamw_values(float* w, const float* g, float* m, float* v, int64_t count, float weight_decay,
                  const AdamwRates& rates) {
  const AdamwRates r = rates;
  const float keep = 1.0F - r.lr * weight_decay;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float gradient = g[i] * r.gradient_scale;
    const float first = r.beta1 * m[i] + r.one_minus_beta1 * gradient;
    const float second = r.beta2 * v[i] + r.one_minus_beta2 * gradient * gradient;
    m[i] = std::abs(first) < kSmallestNormal ? 0.0F : first;
    v[i] = second < kSmallestNormal ? 0.0F : second;
    w[i] = w[i] * keep - r.lr_corrected * m[i] / (std::sqrt(v[i]) * r.inverse_root_correction2 + r.eps);
  }
}

void mirror_weights(const float* weights, uint32_t* mirror, int64_t begin, int64_t count) {
  mirror_pairs(weights + begin, mirror + begin / 2, count / 2);
  if (count % 2 == 0) return;
  uint32_t& last = mirror[(begin + count) / 2];  // its upper half belongs to nobody and keeps its bits
  last = (last & 0xffff0000U) | half_bits(std::bit_cast<uint32_t>(weights[begin + count - 1]));
}

void adamw_update_cpu(device::cpu::CpuStream& stream, const AdamwUpdate& args) {
  update_slab(stream, args, [](int64_t, int64_t) {});
}

void adamw_update_f16_cpu(device::cpu::CpuStream& stream, const AdamwUpdateF16& args) {
  const float* weights = data<float>(args.weights);
  uint32_t* mirror = data<uint32_t>(args.mirror);
  update_slab(stream, args, [&](int64_t begin, int64_t count) { mirror_weights(weights, mirror, begin, count); });
}

}  // namespace athanor::kernels
