// The doors of gelu: checks of sizes, choice of device, and their entries in the table of kernels.
#include "kernels/gelu/gelu.h"

#include "kernels/gelu/gelu_internal.h"
#include "kernels/gelu/gelu_reference.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"

namespace athanor::kernels {

void gelu(Stream& stream, const Gelu& args) {
  check_size("gelu", "x", args.x, args.count);
  check_size("gelu", "out", args.out, args.count);
  if (args.count == 0) return;
  const device::KernelCost cost{kGeluFlops * args.count, 8.0 * args.count};
  launch(
      stream, "gelu", cost, [&](auto& cpu) { gelu_cpu(cpu, args); },
      [&](auto& webgpu) { gelu_webgpu(webgpu, args, cost); });
}

void gelu_backward(Stream& stream, const GeluBackward& args) {
  check_size("gelu_backward", "d_out", args.d_out, args.count);
  check_size("gelu_backward", "x", args.x, args.count);
  check_size("gelu_backward", "d_x", args.d_x, args.count);
  if (args.count == 0) return;
  const device::KernelCost cost{kGeluBackwardFlops * args.count, 12.0 * args.count};
  launch(
      stream, "gelu_backward", cost, [&](auto& cpu) { gelu_backward_cpu(cpu, args); },
      [&](auto& webgpu) { gelu_backward_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> gelu_kernels() {
  return {
      {"gelu", "x times the normal distribution at x, or its tanh form", gelu_cases(), bench_gelu},
      {"gelu_backward", "gradient of gelu", gelu_backward_cases(), bench_gelu_backward},
  };
}

}  // namespace athanor::kernels
