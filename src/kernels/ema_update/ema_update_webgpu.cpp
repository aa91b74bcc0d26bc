// ema_update through WebGPU.
#include "kernels/elementwise.h"
#include "kernels/ema_update/ema_update_internal.h"
#include "kernels/wgsl/ema_update.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::float_bits;
using device::webgpu::read;
using device::webgpu::read_write;

void ema_update_webgpu(device::webgpu::WebGpuStream& stream, const EmaUpdate& args, const device::KernelCost& cost) {
  Dispatch dispatch = elementwise_dispatch(stream, "ema_update", args.count, cost);
  dispatch.sources = {&ema_update_wgsl};
  // Without stats the weights stand in their place, unread: a second shader for that would be compiled for nothing.
  dispatch.bindings = {read_write(args.ema), read(args.weights), read(args.stats ? args.stats : args.weights)};
  dispatch.params.insert(dispatch.params.end(),
                         {float_bits(args.decay), float_bits(args.one_minus_decay), args.stats ? 1U : 0U});
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
