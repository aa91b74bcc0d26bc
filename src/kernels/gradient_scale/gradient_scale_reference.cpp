// gradient_scale and clip_grad_by_norm as plain loops in double, and the sizes they are tried at.
#include "kernels/gradient_scale/gradient_scale_reference.h"

#include "kernels/gradient_scale/gradient_scale.h"

namespace athanor::kernels {

std::vector<double> gradient_scale_reference(const std::vector<double>& gradients, double factor) {
  std::vector<double> out(gradients);
  for (double& value : out) value *= factor;
  return out;
}

std::vector<double> clip_grad_by_norm_reference(const std::vector<double>& gradients,
                                                const std::vector<double>& stats) {
  return stats[2] != 0 ? gradients : gradient_scale_reference(gradients, stats[1]);
}

namespace {

struct Size {
  int64_t count;
  bool in_doctor;
};

// Below and above a workgroup of 256 threads, with and without the four-wide variant, and a real gradient (1024 x 768).
const std::vector<Size> kSizes = {{1, false},  {3, false},   {4, true},    {5, false},    {63, true},
                                  {65, false}, {257, false}, {4100, true}, {2006, false}, {1024 * 768, false}};

CaseResult run_scale(device::Stream& stream, int64_t count, float factor) {
  const std::vector<float> gradients = test_values(count, 1);
  const GradientScale args{upload_values(stream, gradients), count, factor};
  gradient_scale(stream, args);
  CaseResult result;
  compare(result, "gradients", download_values(stream, args.gradients),
          gradient_scale_reference(to_double(gradients), factor), allowed_f32(1));
  return result;
}

CaseResult run_clip(device::Stream& stream, int64_t count, const std::vector<float>& stats) {
  const std::vector<float> gradients = test_values(count, 1);
  const ClipGrad args{upload_values(stream, gradients), upload_values(stream, stats), count};
  clip_grad_by_norm(stream, args);
  CaseResult result;
  compare(result, "gradients", download_values(stream, args.gradients),
          clip_grad_by_norm_reference(to_double(gradients), to_double(stats)), allowed_f32(1));
  return result;
}

}  // namespace

std::vector<KernelCase> gradient_scale_cases() {
  std::vector<KernelCase> cases;
  for (const Size& size : kSizes) {
    cases.push_back({fmt::format("count {}", size.count), size.in_doctor,
                     [size](device::Stream& stream) { return run_scale(stream, size.count, -0.3F); }});
  }
  return cases;
}

std::vector<KernelCase> clip_grad_by_norm_cases() {
  std::vector<KernelCase> cases;
  for (const Size& size : kSizes) {
    cases.push_back({fmt::format("count {}", size.count), size.in_doctor,
                     [size](device::Stream& stream) { return run_clip(stream, size.count, {40, 0.025F, 0, 0}); }});
  }
  cases.push_back(
      {"norm below the maximum", true, [](device::Stream& stream) { return run_clip(stream, 65, {0.5F, 1, 0, 0}); }});
  cases.push_back({"flag set", true, [](device::Stream& stream) { return run_clip(stream, 65, {1e30F, 0, 1, 0}); }});
  return cases;
}

}  // namespace athanor::kernels
