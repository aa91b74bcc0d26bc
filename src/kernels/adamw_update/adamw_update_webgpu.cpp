// adamw_update through WebGPU.
#include "kernels/adamw_update/adamw_update_internal.h"
#include "kernels/wgsl/adamw_update.h"
#include "kernels/wgsl/lanes_1.h"
#include "kernels/wgsl/lanes_4.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::float_bits;
using device::webgpu::read;
using device::webgpu::read_write;

void adamw_update_webgpu(device::webgpu::WebGpuStream& stream, const AdamwUpdate& args,
                         const device::KernelCost& cost) {
  const bool wide = args.count % 4 == 0;
  const int64_t values = wide ? args.count / 4 : args.count;
  const int64_t blocks = args.segments.size_bytes() / static_cast<int64_t>(sizeof(AdamwBlock));
  Dispatch dispatch;
  dispatch.kernel = "adamw_update";
  dispatch.sources = {wide ? &lanes_4_wgsl : &lanes_1_wgsl, &adamw_update_wgsl};
  dispatch.bindings = {read_write(args.weights), read(args.gradients), read_write(args.m),
                       read_write(args.v),       read(args.segments),  read(args.stats)};
  dispatch.params = {
      to_u32(values, "adamw_update"),   to_u32(blocks, "adamw_update"), float_bits(args.lr),
      float_bits(args.beta1),           float_bits(args.beta2),         float_bits(args.one_minus_beta1),
      float_bits(args.one_minus_beta2), float_bits(args.eps),           float_bits(args.bias_correction1),
      float_bits(args.bias_correction2)};
  dispatch.grid = stream.fold(ceil_div(values, 256));
  dispatch.cost = cost;
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
