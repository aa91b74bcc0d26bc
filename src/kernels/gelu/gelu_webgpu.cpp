// gelu through WebGPU.
#include "kernels/elementwise.h"
#include "kernels/gelu/gelu_internal.h"
#include "kernels/wgsl/gelu.h"
#include "kernels/wgsl/gelu_backward.h"
#include "kernels/wgsl/gelu_values.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::read;
using device::webgpu::read_write;

void gelu_webgpu(device::webgpu::WebGpuStream& stream, const Gelu& args, const device::KernelCost& cost) {
  Dispatch dispatch = elementwise_dispatch(stream, "gelu", args.count, cost);
  dispatch.sources = {&gelu_values_wgsl, &gelu_wgsl};
  dispatch.bindings = {read(args.x), read_write(args.out)};
  dispatch.params.push_back(form_word(args.form));
  stream.dispatch(dispatch);
}

void gelu_backward_webgpu(device::webgpu::WebGpuStream& stream, const GeluBackward& args,
                          const device::KernelCost& cost) {
  Dispatch dispatch = elementwise_dispatch(stream, "gelu_backward", args.count, cost);
  dispatch.sources = {&gelu_values_wgsl, &gelu_backward_wgsl};
  dispatch.bindings = {read(args.d_out), read(args.x), read_write(args.d_x)};
  dispatch.params.push_back(form_word(args.form));
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
