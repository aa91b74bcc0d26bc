// relu through WebGPU.
#include "kernels/elementwise.h"
#include "kernels/relu/relu_internal.h"
#include "kernels/wgsl/relu.h"
#include "kernels/wgsl/relu_backward.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::read;
using device::webgpu::read_write;

void relu_webgpu(device::webgpu::WebGpuStream& stream, const Relu& args, const device::KernelCost& cost) {
  Dispatch dispatch = elementwise_dispatch(stream, "relu", args.count, cost);
  dispatch.sources = {&relu_wgsl};
  dispatch.bindings = {read(args.x), read_write(args.out)};
  stream.dispatch(dispatch);
}

void relu_backward_webgpu(device::webgpu::WebGpuStream& stream, const ReluBackward& args,
                          const device::KernelCost& cost) {
  Dispatch dispatch = elementwise_dispatch(stream, "relu_backward", args.count, cost);
  dispatch.sources = {&relu_backward_wgsl};
  dispatch.bindings = {read(args.d_out), read(args.x), read_write(args.d_x)};
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
