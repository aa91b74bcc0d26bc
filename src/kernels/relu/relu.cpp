// The doors of relu: checks of sizes, choice of device, and their entries in the table of kernels.
#include "kernels/relu/relu.h"

#include "kernels/kernel_info.h"
#include "kernels/launch.h"
#include "kernels/relu/relu_internal.h"
#include "kernels/relu/relu_reference.h"

namespace athanor::kernels {

void relu(Stream& stream, const Relu& args) {
  check_size("relu", "x", args.x, args.count);
  check_size("relu", "out", args.out, args.count);
  if (args.count == 0) return;
  const device::KernelCost cost{1.0 * args.count, 8.0 * args.count};
  launch(
      stream, "relu", cost, [&](auto& cpu) { relu_cpu(cpu, args); },
      [&](auto& webgpu) { relu_webgpu(webgpu, args, cost); });
}

void relu_backward(Stream& stream, const ReluBackward& args) {
  check_size("relu_backward", "d_out", args.d_out, args.count);
  check_size("relu_backward", "x", args.x, args.count);
  check_size("relu_backward", "d_x", args.d_x, args.count);
  if (args.count == 0) return;
  const device::KernelCost cost{1.0 * args.count, 12.0 * args.count};
  launch(
      stream, "relu_backward", cost, [&](auto& cpu) { relu_backward_cpu(cpu, args); },
      [&](auto& webgpu) { relu_backward_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> relu_kernels() {
  return {
      {"relu", "max(x, 0)", relu_cases(), bench_relu},
      {"relu_backward", "gradient of relu", relu_backward_cases(), bench_relu_backward},
  };
}

}  // namespace athanor::kernels
