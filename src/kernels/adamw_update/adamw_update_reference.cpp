// adamw_update as a plain loop in double, and the slabs it and adamw_update_f16 are tried on.
#include "kernels/adamw_update/adamw_update_reference.h"

#include "kernels/fp32_to_fp16/fp32_to_fp16.h"
#include "kernels/fp32_to_fp16/fp32_to_fp16_reference.h"

#include <bit>
#include <cmath>

namespace athanor::kernels {

void adamw_update_reference(AdamwState& state, const std::vector<double>& gradients,
                            const std::vector<Segment>& segments, const AdamwSettings& settings, double clip_scale,
                            int t) {
  const double bias_correction1 = 1 - std::pow(settings.beta1, t);
  const double bias_correction2 = 1 - std::pow(settings.beta2, t);
  for (const Segment& segment : segments) {
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

AdamwStep adamw_step(const AdamwSettings& settings, int t) {
  AdamwStep step;
  step.lr = static_cast<float>(settings.lr);
  step.beta1 = static_cast<float>(settings.beta1);
  step.beta2 = static_cast<float>(settings.beta2);
  step.one_minus_beta1 = static_cast<float>(1 - settings.beta1);
  step.one_minus_beta2 = static_cast<float>(1 - settings.beta2);
  step.eps = static_cast<float>(settings.eps);
  step.bias_correction1 = static_cast<float>(1 - std::pow(settings.beta1, t));
  step.bias_correction2 = static_cast<float>(1 - std::pow(settings.beta2, t));
  return step;
}

std::vector<uint32_t> mirror_reference(std::vector<uint32_t> before, const std::vector<float>& weights,
                                       const std::vector<Segment>& segments) {
  for (const Segment& segment : segments) {
    for (size_t i = segment.begin; i < segment.end; ++i) {
      const uint32_t shift = i % 2 * 16;
      const uint32_t half = fp32_to_fp16_reference(std::bit_cast<uint32_t>(weights[i]));
      before[i / 2] = (before[i / 2] & ~(0xffffU << shift)) | half << shift;
    }
  }
  return before;
}

namespace {

struct Slab {
  int64_t count;
  std::vector<Segment> segments;
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
    {4164, {{0, 2049, 0.1F}, {2112, 4164, 0}}, 1, 1, true},
    {1000 * 64, {{0, 40000, 0.1F}, {40000, 63999, 0}}, 0.1F, 1, false},
};

void launch_step(device::Stream& stream, const AdamwUpdate& args) { adamw_update(stream, args); }
void launch_step(device::Stream& stream, const AdamwUpdateF16& args) { adamw_update_f16(stream, args); }

// Three steps of one of the kernels, with gradients of another sign pattern each: lr is large, so that an error in the update is one in
// the weights.
template <typename Args>
CaseResult run_steps(device::Stream& stream, const Slab& slab, Args& args) {
  const AdamwSettings settings;
  const std::vector<float> weights = test_values(slab.count, 1);
  const std::vector<float> zeros(static_cast<size_t>(slab.count), 0.0F);
  AdamwState want{to_double(weights), to_double(zeros), to_double(zeros)};
  args.weights = upload_values(stream, weights);
  args.m = upload_values(stream, zeros);
  args.v = upload_values(stream, zeros);
  args.segments = upload_segments(stream, slab.segments);
  args.stats = upload_values(stream, std::vector<float>{1, slab.clip_scale, 0, 0});
  args.count = slab.count;
  for (int t = 1; t <= 3; ++t) {
    const std::vector<float> gradients = test_values(slab.count, static_cast<uint32_t>(10 + t), slab.gradient_scale);
    static_cast<AdamwStep&>(args) = adamw_step(settings, t);
    args.gradients = upload_values(stream, gradients);
    launch_step(stream, args);
    adamw_update_reference(want, to_double(gradients), slab.segments, settings, slab.clip_scale, t);
  }
  CaseResult result;
  compare(result, "weights", download_values(stream, args.weights), want.weights, allowed_f32(3 * 4));
  compare(result, "m", download_values(stream, args.m), want.m, allowed_f32(3));
  compare(result, "v", download_values(stream, args.v), want.v, allowed_f32(3));
  return result;
}

CaseResult run_case(device::Stream& stream, const Slab& slab) {
  AdamwUpdate args;
  return run_steps(stream, slab, args);
}

// Beside the weights, every half of the mirror must be the one nearest to the weight as it lies there.
CaseResult run_f16_case(device::Stream& stream, const Slab& slab) {
  const std::vector<uint32_t> before(static_cast<size_t>(half_words(slab.count)), 0x7bcdfabcU);
  AdamwUpdateF16 args;
  args.mirror = upload_values(stream, before);
  const CaseResult result = run_steps(stream, slab, args);
  const std::vector<uint32_t> got = download_words(stream, args.mirror);
  const std::vector<uint32_t> want = mirror_reference(before, download_values(stream, args.weights), slab.segments);
  for (size_t i = 0; i < want.size(); ++i) {
    if (got[i] != want[i]) return {1, 0, fmt::format("mirror[{}]: {:#010x} instead of {:#010x}", i, got[i], want[i])};
  }
  return result;
}

std::vector<KernelCase> cases_of(CaseResult (*run)(device::Stream&, const Slab&)) {
  std::vector<KernelCase> cases;
  for (const Slab& slab : kSlabs) {
    cases.push_back({fmt::format("three steps, {} elements, {} tensors, gradients of {}", slab.count,
                                 slab.segments.size(), slab.gradient_scale),
                     slab.in_doctor, [run, slab](device::Stream& stream) { return run(stream, slab); }});
  }
  return cases;
}

}  // namespace

std::vector<KernelCase> adamw_update_cases() { return cases_of(run_case); }
std::vector<KernelCase> adamw_update_f16_cases() { return cases_of(run_f16_case); }

}  // namespace athanor::kernels
