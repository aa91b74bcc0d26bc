// The doors of silu_gate: checks of sizes, choice of device, and their entries in the table of kernels.
#include "kernels/silu_gate/silu_gate.h"

#include "kernels/kernel_info.h"
#include "kernels/launch.h"
#include "kernels/silu_gate/silu_gate_internal.h"
#include "kernels/silu_gate/silu_gate_reference.h"

namespace athanor::kernels {

void silu_gate(Stream& stream, const SiluGate& args) {
  check_size("silu_gate", "gate", args.gate, args.count);
  check_size("silu_gate", "up", args.up, args.count);
  check_size("silu_gate", "out", args.out, args.count);
  if (args.count == 0) return;
  const device::KernelCost cost{5.0 * args.count, 12.0 * args.count};
  launch(
      stream, "silu_gate", cost, [&](auto& cpu) { silu_gate_cpu(cpu, args); },
      [&](auto& webgpu) { silu_gate_webgpu(webgpu, args, cost); });
}

void silu_gate_backward(Stream& stream, const SiluGateBackward& args) {
  check_size("silu_gate_backward", "d_out", args.d_out, args.count);
  check_size("silu_gate_backward", "gate", args.gate, args.count);
  check_size("silu_gate_backward", "up", args.up, args.count);
  check_size("silu_gate_backward", "d_gate", args.d_gate, args.count);
  check_size("silu_gate_backward", "d_up", args.d_up, args.count);
  if (args.count == 0) return;
  const device::KernelCost cost{11.0 * args.count, 20.0 * args.count};
  launch(
      stream, "silu_gate_backward", cost, [&](auto& cpu) { silu_gate_backward_cpu(cpu, args); },
      [&](auto& webgpu) { silu_gate_backward_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> silu_gate_kernels() {
  return {
      {"silu_gate", "silu(gate) * up", silu_gate_cases(), bench_silu_gate},
      {"silu_gate_backward", "gradients of silu_gate for gate and up", silu_gate_backward_cases(),
       bench_silu_gate_backward},
  };
}

}  // namespace athanor::kernels
