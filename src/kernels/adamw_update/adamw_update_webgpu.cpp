// adamw_update and adamw_update_f16 through WebGPU: one shader, joined with what writes the mirror or with what does not.
#include "kernels/adamw_update/adamw_update_internal.h"
#include "kernels/wgsl/adamw_step.h"
#include "kernels/wgsl/adamw_update.h"
#include "kernels/wgsl/adamw_update_f16.h"
#include "kernels/wgsl/lanes_1.h"
#include "kernels/wgsl/lanes_4.h"
#include "kernels/wgsl/mirror_1.h"
#include "kernels/wgsl/mirror_4.h"
#include "kernels/wgsl/round_to_half.h"
#include "kernels/wgsl/segment_lanes.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::float_bits;
using device::webgpu::read;
using device::webgpu::read_write;

namespace {

bool is_wide(const AdamwUpdate& args) { return args.count % 4 == 0; }

/// The launch of either kernel but for what belongs to the mirror.
Dispatch step_dispatch(const device::webgpu::WebGpuStream& stream, const char* kernel, const AdamwUpdate& args,
                       const device::KernelCost& cost) {
  const int64_t values = is_wide(args) ? args.count / 4 : args.count;
  Dispatch dispatch;
  dispatch.kernel = kernel;
  dispatch.variant = is_wide(args) ? "portable" : "scalar";
  dispatch.sources = {is_wide(args) ? &lanes_4_wgsl : &lanes_1_wgsl, &segment_lanes_wgsl, &adamw_step_wgsl};
  dispatch.bindings = {read_write(args.weights), read(args.gradients), read_write(args.m),
                       read_write(args.v),       read(args.segments),  read(args.stats)};
  dispatch.params = {to_u32(values, kernel),
                     to_u32(segment_blocks(args.segments), kernel),
                     float_bits(args.lr),
                     float_bits(args.beta1),
                     float_bits(args.beta2),
                     float_bits(args.one_minus_beta1),
                     float_bits(args.one_minus_beta2),
                     float_bits(args.eps),
                     float_bits(args.bias_correction1),
                     float_bits(args.bias_correction2)};
  dispatch.grid = stream.fold(ceil_div(values, 256));
  dispatch.cost = cost;
  return dispatch;
}

}  // namespace

void adamw_update_webgpu(device::webgpu::WebGpuStream& stream, const AdamwUpdate& args,
                         const device::KernelCost& cost) {
  Dispatch dispatch = step_dispatch(stream, "adamw_update", args, cost);
  dispatch.sources.push_back(&adamw_update_wgsl);
  stream.dispatch(dispatch);
}

void adamw_update_f16_webgpu(device::webgpu::WebGpuStream& stream, const AdamwUpdateF16& args,
                             const device::KernelCost& cost) {
  Dispatch dispatch = step_dispatch(stream, "adamw_update_f16", args, cost);
  dispatch.sources.insert(dispatch.sources.end(), {&round_to_half_wgsl, is_wide(args) ? &mirror_4_wgsl : &mirror_1_wgsl,
                                                   &adamw_update_f16_wgsl});
  dispatch.bindings.push_back(read_write(args.mirror));
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
