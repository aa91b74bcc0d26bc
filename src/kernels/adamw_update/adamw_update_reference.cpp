// adamw_update as a plain loop in double, and the slabs it is tried on.
#include "kernels/adamw_update/adamw_update_reference.h"

#include <cmath>

namespace athanor::kernels {

void adamw_update_reference(AdamwState& state, const std::vector<double>& gradients,
                            const std::vector<AdamwSegment>& segments, const AdamwSettings& settings, double clip_scale,
                            int t) {
  const double bias_correction1 = 1 - std::pow(settings.beta1, t);
  const double bias_correction2 = 1 - std::pow(settings.beta2, t);
  for (const AdamwSegment& segment : segments) {
    for (size_t i = segment.begin; i < segment.end; ++i) {
      const double g = gradients[i] * clip_scale;
      state.m[i] = settings.beta1 * state.m[i] + (1 - settings.beta1) * g;
      state.v[i] = settings.beta2 * state.v[i] + (1 - settings.beta2) * g * g;
      state.weights[i] -= settings.lr * segment.weight_decay * state.weights[i];
      state.weights[i] -=
          settings.lr * (state.m[i] / bias_correction1) / (std::sqrt(state.v[i] / bias_correction2) + settings.eps);
    }
  }
}

AdamwUpdate adamw_args(const AdamwSettings& settings, int t) {
  AdamwUpdate args;
  args.lr = static_cast<float>(settings.lr);
  args.beta1 = static_cast<float>(settings.beta1);
  args.beta2 = static_cast<float>(settings.beta2);
  args.one_minus_beta1 = static_cast<float>(1 - settings.beta1);
  args.one_minus_beta2 = static_cast<float>(1 - settings.beta2);
  args.eps = static_cast<float>(settings.eps);
  args.bias_correction1 = static_cast<float>(1 - std::pow(settings.beta1, t));
  args.bias_correction2 = static_cast<float>(1 - std::pow(settings.beta2, t));
  return args;
}

namespace {

struct Slab {
  int64_t count;
  std::vector<AdamwSegment> segments;
  float clip_scale;
  float gradient_scale;
  bool in_doctor;
};

// One tensor of every size; several with holes between them, some with decay; lengths that are no multiple of four; tiny and clipped
// gradients; a small model's.
const std::vector<Slab> kSlabs = {
    {1, {{0, 1, 0.1F}}, 1, 1, false},
    {3, {{0, 3, 0}}, 1, 1, true},
    {5, {{0, 5, 0.1F}}, 1, 1, false},
    {63, {{0, 63, 0.1F}}, 1, 1, false},
    {65, {{0, 65, 0.1F}}, 0.5F, 1, true},
    {257, {{0, 64, 0.1F}, {64, 257, 0}}, 1, 1, false},
    {640, {{64, 101, 0.1F}, {128, 257, 0}, {384, 448, 0.2F}, {512, 575, 0.1F}}, 0.25F, 1, true},
    {640, {{0, 640, 0.1F}}, 1, 1e-6F, true},
    {3 * 64 + 5, {{64, 128, 0.1F}, {128, 190, 0}}, 1, 1, true},
    {1000 * 64, {{0, 40000, 0.1F}, {40000, 63999, 0}}, 0.1F, 1, false},
};

// Three steps, with gradients of another sign pattern each: lr is large, so that an error in the update is one in the weights.
CaseResult run_case(device::Stream& stream, const Slab& slab) {
  const AdamwSettings settings;
  const std::vector<float> weights = test_values(slab.count, 1);
  const std::vector<float> zeros(static_cast<size_t>(slab.count), 0.0F);
  const std::vector<float> stats = {1, slab.clip_scale, 0, 0};
  AdamwState want{to_double(weights), to_double(zeros), to_double(zeros)};
  AdamwUpdate args;
  const device::Buffer weights_buffer = upload_values(stream, weights);
  const device::Buffer m = upload_values(stream, zeros);
  const device::Buffer v = upload_values(stream, zeros);
  const device::Buffer segments = upload_segments(stream, slab.segments);
  for (int t = 1; t <= 3; ++t) {
    const std::vector<float> gradients = test_values(slab.count, static_cast<uint32_t>(10 + t), slab.gradient_scale);
    args = adamw_args(settings, t);
    args.weights = weights_buffer;
    args.gradients = upload_values(stream, gradients);
    args.m = m;
    args.v = v;
    args.segments = segments;
    args.stats = upload_values(stream, stats);
    args.count = slab.count;
    adamw_update(stream, args);
    adamw_update_reference(want, to_double(gradients), slab.segments, settings, slab.clip_scale, t);
  }
  CaseResult result;
  compare(result, "weights", download_values(stream, args.weights), want.weights, allowed_f32(3 * 4));
  compare(result, "m", download_values(stream, args.m), want.m, allowed_f32(3));
  compare(result, "v", download_values(stream, args.v), want.v, allowed_f32(3));
  return result;
}

}  // namespace

std::vector<KernelCase> adamw_update_cases() {
  std::vector<KernelCase> cases;
  for (const Slab& slab : kSlabs) {
    cases.push_back({fmt::format("three steps, {} elements, {} tensors, gradients of {}", slab.count,
                                 slab.segments.size(), slab.gradient_scale),
                     slab.in_doctor, [slab](device::Stream& stream) { return run_case(stream, slab); }});
  }
  return cases;
}

}  // namespace athanor::kernels
