// The doors of gelu_gate: checks of sizes, choice of device, and their entries in the table of kernels.
#include "kernels/gelu_gate/gelu_gate.h"

#include "kernels/gelu/gelu_internal.h"
#include "kernels/gelu_gate/gelu_gate_internal.h"
#include "kernels/gelu_gate/gelu_gate_reference.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"

namespace athanor::kernels {

void gelu_gate(Stream& stream, const GeluGate& args) {
  check_size("gelu_gate", "gate", args.gate, args.count);
  check_size("gelu_gate", "up", args.up, args.count);
  check_size("gelu_gate", "out", args.out, args.count);
  if (args.count == 0) return;
  const device::KernelCost cost{(kGeluFlops + 1) * args.count, 12.0 * args.count};
  launch(
      stream, "gelu_gate", cost, [&](auto& cpu) { gelu_gate_cpu(cpu, args); },
      [&](auto& webgpu) { gelu_gate_webgpu(webgpu, args, cost); });
}

void gelu_gate_backward(Stream& stream, const GeluGateBackward& args) {
  check_size("gelu_gate_backward", "d_out", args.d_out, args.count);
  check_size("gelu_gate_backward", "gate", args.gate, args.count);
  check_size("gelu_gate_backward", "up", args.up, args.count);
  check_size("gelu_gate_backward", "d_gate", args.d_gate, args.count);
  check_size("gelu_gate_backward", "d_up", args.d_up, args.count);
  if (args.count == 0) return;
  const device::KernelCost cost{(kGeluBackwardFlops + 3) * args.count, 20.0 * args.count};
  launch(
      stream, "gelu_gate_backward", cost, [&](auto& cpu) { gelu_gate_backward_cpu(cpu, args); },
      [&](auto& webgpu) { gelu_gate_backward_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> gelu_gate_kernels() {
  return {
      {"gelu_gate", "gelu(gate) * up", gelu_gate_cases(), bench_gelu_gate},
      {"gelu_gate_backward", "gradients of gelu_gate for gate and up", gelu_gate_backward_cases(),
       bench_gelu_gate_backward},
  };
}

}  // namespace athanor::kernels
