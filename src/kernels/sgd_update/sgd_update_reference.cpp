// sgd_update as a plain loop in double, and the slabs it is tried on.
#include "kernels/sgd_update/sgd_update_reference.h"

namespace athanor::kernels {

void sgd_update_reference(std::vector<double>& weights, std::vector<double>& m, const std::vector<double>& gradients,
                          const std::vector<Segment>& segments, const SgdSettings& settings, double clip_scale) {
  for (const Segment& segment : segments) {
    for (size_t i = segment.begin; i < segment.end; ++i) {
      double d = gradients[i] * clip_scale + segment.weight_decay * weights[i];
      if (settings.momentum != 0) {
        m[i] = settings.momentum * m[i] + d;
        d = settings.nesterov == Nesterov::Yes ? d + settings.momentum * m[i] : m[i];
      }
      weights[i] -= settings.lr * d;
    }
  }
}

namespace {

struct Slab {
  int64_t count;
  std::vector<Segment> segments;
  float clip_scale;
  bool in_doctor;
};

// One tensor of every size; several with holes between them, some with decay; lengths that are no multiple of four; a small model's.
const std::vector<Slab> kSlabs = {
    {1, {{0, 1, 0.1F}}, 1, false},
    {3, {{0, 3, 0}}, 1, false},
    {5, {{0, 5, 0.1F}}, 1, false},
    {63, {{0, 63, 0.1F}}, 1, false},
    {65, {{0, 65, 0.1F}}, 0.5F, false},
    {257, {{0, 64, 0.1F}, {64, 257, 0}}, 1, false},
    {640, {{64, 101, 0.1F}, {128, 257, 0}, {384, 448, 0.2F}, {512, 575, 0.1F}}, 0.25F, true},
    {4164, {{0, 2049, 0.1F}, {2112, 4164, 0}}, 1, true},
    {1000 * 64, {{0, 40000, 0.1F}, {40000, 63999, 0}}, 0.1F, false},
};

// Three steps with gradients of another sign pattern each; lr is large, so that an error in the update is one in the weights.
CaseResult run_case(device::Stream& stream, const Slab& slab, const SgdSettings& settings) {
  const std::vector<float> weights = test_values(slab.count, 1);
  const std::vector<float> zeros(static_cast<size_t>(slab.count), 0.0F);
  const std::vector<float> stats = {1, slab.clip_scale, 0, 0};
  std::vector<double> want = to_double(weights);
  std::vector<double> want_m = to_double(zeros);
  SgdUpdate args;
  args.weights = upload_values(stream, weights);
  if (settings.momentum > 0) args.m = upload_values(stream, zeros);
  args.segments = upload_segments(stream, slab.segments);
  args.stats = upload_values(stream, stats);
  args.count = slab.count;
  args.lr = static_cast<float>(settings.lr);
  args.momentum = static_cast<float>(settings.momentum);
  args.nesterov = settings.nesterov;
  for (uint32_t step = 0; step < 3; ++step) {
    const std::vector<float> gradients = test_values(slab.count, 10 + step);
    args.gradients = upload_values(stream, gradients);
    sgd_update(stream, args);
    sgd_update_reference(want, want_m, to_double(gradients), slab.segments, settings, slab.clip_scale);
  }
  CaseResult result;
  compare(result, "weights", download_values(stream, args.weights), want, allowed_f32(3 * 4));
  if (args.m) compare(result, "m", download_values(stream, args.m), want_m, allowed_f32(3 * 2));
  return result;
}

}  // namespace

std::vector<KernelCase> sgd_update_cases() {
  const std::vector<std::pair<std::string, SgdSettings>> forms = {
      {"no momentum", {0.1, 0, Nesterov::No}},
      {"momentum", {0.1, 0.9, Nesterov::No}},
      {"Nesterov", {0.1, 0.9, Nesterov::Yes}},
  };
  std::vector<KernelCase> cases;
  for (const auto& [form, settings] : forms) {
    for (const Slab& slab : kSlabs) {
      cases.push_back({fmt::format("{}, three steps, {} elements, {} tensors", form, slab.count, slab.segments.size()),
                       slab.in_doctor, [slab, settings = settings](device::Stream& stream) {
                         return run_case(stream, slab, settings);
                       }});
    }
  }
  return cases;
}

}  // namespace athanor::kernels
