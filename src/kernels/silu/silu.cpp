// The doors of silu: checks of sizes, choice of device, and their entries in the table of kernels.
#include "kernels/silu/silu.h"

#include "kernels/kernel_info.h"
#include "kernels/launch.h"
#include "kernels/silu/silu_internal.h"
#include "kernels/silu/silu_reference.h"

namespace athanor::kernels {

void silu(Stream& stream, const Silu& args) {
  check_size("silu", "x", args.x, args.count);
  check_size("silu", "out", args.out, args.count);
  if (args.count == 0) return;
  const device::KernelCost cost{4.0 * args.count, 8.0 * args.count};
  launch(
      stream, "silu", cost, [&](auto& cpu) { silu_cpu(cpu, args); },
      [&](auto& webgpu) { silu_webgpu(webgpu, args, cost); });
}

void silu_backward(Stream& stream, const SiluBackward& args) {
  check_size("silu_backward", "d_out", args.d_out, args.count);
  check_size("silu_backward", "x", args.x, args.count);
  check_size("silu_backward", "d_x", args.d_x, args.count);
  if (args.count == 0) return;
  const device::KernelCost cost{9.0 * args.count, 12.0 * args.count};
  launch(
      stream, "silu_backward", cost, [&](auto& cpu) { silu_backward_cpu(cpu, args); },
      [&](auto& webgpu) { silu_backward_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> silu_kernels() {
  return {
      {"silu", "x / (1 + e^-x)", silu_cases(), bench_silu},
      {"silu_backward", "gradient of silu", silu_backward_cases(), bench_silu_backward},
  };
}

}  // namespace athanor::kernels
