// gradient_scale and clip_grad_by_norm through WebGPU.
#include "kernels/elementwise.h"
#include "kernels/gradient_scale/gradient_scale_internal.h"
#include "kernels/wgsl/clip_grad_by_norm.h"
#include "kernels/wgsl/gradient_scale.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::float_bits;
using device::webgpu::read;
using device::webgpu::read_write;

void gradient_scale_webgpu(device::webgpu::WebGpuStream& stream, const GradientScale& args,
                           const device::KernelCost& cost) {
  Dispatch dispatch = elementwise_dispatch(stream, "gradient_scale", args.count, cost);
  dispatch.sources = {&gradient_scale_wgsl};
  dispatch.bindings = {read_write(args.gradients)};
  dispatch.params.push_back(float_bits(args.factor));
  stream.dispatch(dispatch);
}

void clip_grad_by_norm_webgpu(device::webgpu::WebGpuStream& stream, const ClipGrad& args,
                              const device::KernelCost& cost) {
  Dispatch dispatch = elementwise_dispatch(stream, "clip_grad_by_norm", args.count, cost);
  dispatch.sources = {&clip_grad_by_norm_wgsl};
  dispatch.bindings = {read_write(args.gradients), read(args.stats)};
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
