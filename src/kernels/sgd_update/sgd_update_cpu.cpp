// sgd_update for the CPU device: one vectorised pass over the slabs, shared among the workers in fixed chunks.
#include "device/cpu/simd.h"
#include "kernels/segments/segment_runs.h"
#include "kernels/sgd_update/sgd_update_internal.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

constexpr float kSmallestNormal = 1.17549435e-38F;

struct Step {
  float lr;
  float weight_decay;
  float gradient_scale;
  float momentum;
  float own_share;   // of the gradient in the direction: 1 with Nesterov's form, else 0
  float kept_share;  // of the moment: the momentum with Nesterov's form, else 1
};

ATHANOR_SIMD_CLONES
void update_plain(float* w, const float* g, int64_t count, const Step& step) {
  const Step s = step;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) w[i] -= s.lr * (g[i] * s.gradient_scale + s.weight_decay * w[i]);
}

ATHANOR_SIMD_CLONES
void update_with_momentum(float* w, const float* g, float* m, int64_t count, const Step& step) {
  const Step s = step;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float gradient = g[i] * s.gradient_scale + s.weight_decay * w[i];
    const float next = s.momentum * m[i] + gradient;
    m[i] = std::abs(next) < kSmallestNormal ? 0.0F : next;
    w[i] -= s.lr * (s.own_share * gradient + s.kept_share * m[i]);
  }
}

}  // namespace

void sgd_update_cpu(device::cpu::CpuStream& stream, const SgdUpdate& args) {
  const float* stats = data<float>(args.stats);
  if (stats[2] != 0) return;
  const bool nesterov = args.nesterov == Nesterov::Yes;
  const Step common{args.lr, 0, stats[1], args.momentum, nesterov ? 1.0F : 0.0F, nesterov ? args.momentum : 1.0F};
  float* w = data<float>(args.weights);
  const float* g = data<float>(args.gradients);
  float* m = args.momentum > 0 ? data<float>(args.m) : nullptr;
  for_each_run(stream, args.segments, [&](int64_t begin, int64_t count, float weight_decay) {
    Step step = common;
    step.weight_decay = weight_decay;
    if (m == nullptr) {
      update_plain(w + begin, g + begin, count, step);
    } else {
      update_with_momentum(w + begin, g + begin, m + begin, count, step);
    }
  });
}

}  // namespace athanor::kernels
