// silu_gate through WebGPU.
#include "kernels/elementwise.h"
#include "kernels/silu_gate/silu_gate_internal.h"
#include "kernels/wgsl/silu_gate.h"
#include "kernels/wgsl/silu_gate_backward.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::read;
using device::webgpu::read_write;

void silu_gate_webgpu(device::webgpu::WebGpuStream& stream, const SiluGate& args, const device::KernelCost& cost) {
  Dispatch dispatch = elementwise_dispatch(stream, "silu_gate", args.count, cost);
  dispatch.sources = {&silu_gate_wgsl};
  dispatch.bindings = {read(args.gate), read(args.up), read_write(args.out)};
  stream.dispatch(dispatch);
}

void silu_gate_backward_webgpu(device::webgpu::WebGpuStream& stream, const SiluGateBackward& args,
                               const device::KernelCost& cost) {
  Dispatch dispatch = elementwise_dispatch(stream, "silu_gate_backward", args.count, cost);
  dispatch.sources = {&silu_gate_backward_wgsl};
  dispatch.bindings = {read(args.d_out), read(args.gate), read(args.up), read_write(args.d_gate),
                       read_write(args.d_up)};
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
