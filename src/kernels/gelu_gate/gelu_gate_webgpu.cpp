// gelu_gate through WebGPU.
#include "kernels/elementwise.h"
#include "kernels/gelu/gelu_internal.h"
#include "kernels/gelu_gate/gelu_gate_internal.h"
#include "kernels/wgsl/gelu_gate.h"
#include "kernels/wgsl/gelu_gate_backward.h"
#include "kernels/wgsl/gelu_values.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::read;
using device::webgpu::read_write;

void gelu_gate_webgpu(device::webgpu::WebGpuStream& stream, const GeluGate& args, const device::KernelCost& cost) {
  Dispatch dispatch = elementwise_dispatch(stream, "gelu_gate", args.count, cost);
  dispatch.sources = {&gelu_values_wgsl, &gelu_gate_wgsl};
  dispatch.bindings = {read(args.gate), read(args.up), read_write(args.out)};
  dispatch.params.push_back(form_word(args.form));
  stream.dispatch(dispatch);
}

void gelu_gate_backward_webgpu(device::webgpu::WebGpuStream& stream, const GeluGateBackward& args,
                               const device::KernelCost& cost) {
  Dispatch dispatch = elementwise_dispatch(stream, "gelu_gate_backward", args.count, cost);
  dispatch.sources = {&gelu_values_wgsl, &gelu_gate_backward_wgsl};
  dispatch.bindings = {read(args.d_out), read(args.gate), read(args.up), read_write(args.d_gate),
                       read_write(args.d_up)};
  dispatch.params.push_back(form_word(args.form));
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
