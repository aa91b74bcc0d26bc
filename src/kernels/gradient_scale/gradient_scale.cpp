// The doors of gradient_scale and clip_grad_by_norm: checks, choice of device, benchmarks, and their entries in the table of kernels.
#include "kernels/gradient_scale/gradient_scale.h"

#include "kernels/bench_values.h"
#include "kernels/gradient_scale/gradient_scale_internal.h"
#include "kernels/gradient_scale/gradient_scale_reference.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"

#include <cmath>

namespace athanor::kernels {

namespace {

device::KernelCost cost_of(int64_t count) { return {1.0 * count, 8.0 * count}; }

// Times -1: the values stay what they are however often it runs.
KernelBench bench_scale(Stream& stream, int64_t bytes) {
  const GradientScale args{bench_values(stream, bytes / 4, 1), bytes / 4, -1};
  return {fmt::format("count {}", args.count), cost_of(args.count), [&stream, args] { gradient_scale(stream, args); }};
}

KernelBench bench_clip(Stream& stream, int64_t bytes) {
  const std::vector<float> stats = {1, -1, 0, 0};
  const ClipGrad args{bench_values(stream, bytes / 4, 1), upload_values(stream, stats), bytes / 4};
  return {fmt::format("count {}", args.count), cost_of(args.count),
          [&stream, args] { clip_grad_by_norm(stream, args); }};
}

}  // namespace

void gradient_scale(Stream& stream, const GradientScale& args) {
  check_size("gradient_scale", "gradients", args.gradients, args.count);
  check(std::isfinite(args.factor), "gradient_scale: a factor of {}; pass a finite number", args.factor);
  if (args.count == 0) return;
  const device::KernelCost cost = cost_of(args.count);
  launch(
      stream, "gradient_scale", cost, [&](auto& cpu) { gradient_scale_cpu(cpu, args); },
      [&](auto& webgpu) { gradient_scale_webgpu(webgpu, args, cost); });
}

void clip_grad_by_norm(Stream& stream, const ClipGrad& args) {
  check_size("clip_grad_by_norm", "gradients", args.gradients, args.count);
  check_size("clip_grad_by_norm", "stats", args.stats, 4);
  if (args.count == 0) return;
  const device::KernelCost cost = cost_of(args.count);
  launch(
      stream, "clip_grad_by_norm", cost, [&](auto& cpu) { clip_grad_by_norm_cpu(cpu, args); },
      [&](auto& webgpu) { clip_grad_by_norm_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> gradient_scale_kernels() {
  return {
      {"gradient_scale", "gradients *= factor", gradient_scale_cases(), bench_scale},
      {"clip_grad_by_norm", "gradients *= the clip scale that finalize_grad_stats found", clip_grad_by_norm_cases(),
       bench_clip},
  };
}

}  // namespace athanor::kernels
