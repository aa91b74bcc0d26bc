// sgd_update through WebGPU.
#include "kernels/sgd_update/sgd_update_internal.h"
#include "kernels/wgsl/lanes_1.h"
#include "kernels/wgsl/lanes_4.h"
#include "kernels/wgsl/segment_lanes.h"
#include "kernels/wgsl/sgd_step.h"
#include "kernels/wgsl/sgd_update.h"
#include "kernels/wgsl/sgd_update_plain.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::float_bits;
using device::webgpu::read;
using device::webgpu::read_write;

namespace {

const char* variant_of(bool wide, bool has_momentum) {
  if (has_momentum) return wide ? "portable" : "scalar";
  return wide ? "plain" : "plain_scalar";
}

}  // namespace

void sgd_update_webgpu(device::webgpu::WebGpuStream& stream, const SgdUpdate& args, const device::KernelCost& cost) {
  const bool wide = args.count % 4 == 0;
  const bool has_momentum = args.momentum > 0;
  const int64_t values = wide ? args.count / 4 : args.count;
  Dispatch dispatch;
  dispatch.kernel = "sgd_update";
  dispatch.variant = variant_of(wide, has_momentum);
  dispatch.sources = {wide ? &lanes_4_wgsl : &lanes_1_wgsl, &segment_lanes_wgsl, &sgd_step_wgsl,
                      has_momentum ? &sgd_update_wgsl : &sgd_update_plain_wgsl};
  dispatch.bindings = {read_write(args.weights), read(args.gradients), read(args.segments), read(args.stats)};
  if (has_momentum) dispatch.bindings.push_back(read_write(args.m));
  dispatch.params = {to_u32(values, "sgd_update"), to_u32(segment_blocks(args.segments), "sgd_update"),
                     float_bits(args.lr), float_bits(args.momentum), args.nesterov == Nesterov::Yes ? 1U : 0U};
  dispatch.grid = stream.fold(ceil_div(values, 256));
  dispatch.cost = cost;
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
