// silu through WebGPU.
#include "kernels/elementwise.h"
#include "kernels/silu/silu_internal.h"
#include "kernels/wgsl/silu.h"
#include "kernels/wgsl/silu_backward.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::read;
using device::webgpu::read_write;

void silu_webgpu(device::webgpu::WebGpuStream& stream, const Silu& args, const device::KernelCost& cost) {
  Dispatch dispatch = elementwise_dispatch(stream, "silu", args.count, cost);
  dispatch.sources = {&silu_wgsl};
  dispatch.bindings = {read(args.x), read_write(args.out)};
  stream.dispatch(dispatch);
}

void silu_backward_webgpu(device::webgpu::WebGpuStream& stream, const SiluBackward& args,
                          const device::KernelCost& cost) {
  Dispatch dispatch = elementwise_dispatch(stream, "silu_backward", args.count, cost);
  dispatch.sources = {&silu_backward_wgsl};
  dispatch.bindings = {read(args.d_out), read(args.x), read_write(args.d_x)};
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
