// The door of rms_norm: checks of shapes, choice of device, and its entry in the table of kernels.
#include "kernels/rms_norm/rms_norm.h"

#include "kernels/kernel_info.h"
#include "kernels/launch.h"
#include "kernels/rms_norm/rms_norm_internal.h"
#include "kernels/rms_norm/rms_norm_reference.h"

namespace athanor::kernels {

void rms_norm(Stream& stream, const RmsNorm& args) {
  const int64_t count = args.rows * args.columns;
  check_size("rms_norm", "x", args.x, count);
  check_size("rms_norm", "weight", args.weight, args.columns);
  check_size("rms_norm", "out", args.out, count);
  const device::KernelCost cost{4.0 * count, 8.0 * count};
  launch(
      stream, "rms_norm", cost, [&](auto& cpu) { rms_norm_cpu(cpu, args); },
      [&](auto& webgpu) { rms_norm_webgpu(webgpu, args, cost); });
}

void rms_norm_backward(Stream& stream, const RmsNormBackward& args) {
  const int64_t count = args.rows * args.columns;
  check_size("rms_norm_backward", "d_out", args.d_out, count);
  check_size("rms_norm_backward", "x", args.x, count);
  check_size("rms_norm_backward", "weight", args.weight, args.columns);
  if (args.d_x) check_size("rms_norm_backward", "d_x", args.d_x, count);
  if (args.d_weight) check_size("rms_norm_backward", "d_weight", args.d_weight, args.columns);
  const device::KernelCost cost{10.0 * count, 16.0 * count};
  launch(
      stream, "rms_norm_backward", cost, [&](auto& cpu) { rms_norm_backward_cpu(cpu, args); },
      [&](auto& webgpu) { rms_norm_backward_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> rms_norm_kernels() {
  return {
      {"rms_norm", "x * weight / sqrt(mean(x^2) + eps) of each row", rms_norm_cases()},
      {"rms_norm_backward", "gradients of rms_norm for x and weight", rms_norm_backward_cases()},
  };
}

}  // namespace athanor::kernels
