// The doors of sum, gradient_norm_squared and finalize_grad_stats: checks, choice of device, and their entries in the table of kernels.
#include "kernels/gradient_norm/gradient_norm.h"

#include <cmath>

#include "kernels/gradient_norm/gradient_norm_internal.h"
#include "kernels/gradient_norm/gradient_norm_reference.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"

namespace athanor::kernels {

void sum(Stream& stream, const Sum& args) {
  check(args.count > 0, "sum: {} values; pass at least one", args.count);
  check_size("sum", "values", args.values, args.count);
  check_size("sum", "out", args.out, 1);
  const device::KernelCost cost{1.0 * args.count, 4.0 * args.count};
  launch(
      stream, "sum", cost, [&](auto& cpu) { sum_cpu(cpu, args); },
      [&](auto& webgpu) { sum_webgpu(webgpu, args, cost); });
}

void gradient_norm_squared(Stream& stream, const GradientNorm& args) {
  check_size("gradient_norm_squared", "gradients", args.gradients, args.count);
  check_size("gradient_norm_squared", "partial", args.partial, norm_blocks(args.count));
  if (args.count == 0) return;
  const device::KernelCost cost{2.0 * args.count, 4.0 * args.count};
  launch(
      stream, "gradient_norm_squared", cost, [&](auto& cpu) { gradient_norm_squared_cpu(cpu, args); },
      [&](auto& webgpu) { gradient_norm_squared_webgpu(webgpu, args, cost); });
}

void finalize_grad_stats(Stream& stream, const GradStats& args) {
  check(std::isfinite(args.max_norm) && args.max_norm >= 0,
        "finalize_grad_stats: a max_norm of {}; pass a finite number above 0, or 0 for no clipping", args.max_norm);
  check_size("finalize_grad_stats", "partial", args.partial, args.partials);
  check_size("finalize_grad_stats", "stats", args.stats, 4);
  const device::KernelCost cost{1.0 * args.partials, 4.0 * args.partials};
  launch(
      stream, "finalize_grad_stats", cost, [&](auto& cpu) { finalize_grad_stats_cpu(cpu, args); },
      [&](auto& webgpu) { finalize_grad_stats_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> gradient_norm_kernels() {
  return {
      {"sum", "sum of all values by a fixed tree", sum_cases()},
      {"gradient_norm_squared", "sums of g^2 by blocks of 4096, not finite where a gradient is not",
       gradient_norm_squared_cases()},
      {"finalize_grad_stats", "norm, clip scale and non-finite flag from the sums", finalize_grad_stats_cases()},
  };
}

}  // namespace athanor::kernels
