// cross_entropy through WebGPU.
#include "kernels/attention/soft_cap.h"
#include "kernels/cross_entropy/cross_entropy_internal.h"
#include "kernels/wgsl/cross_entropy.h"
#include "kernels/wgsl/cross_entropy_backward.h"
#include "kernels/wgsl/cross_entropy_in_place.h"
#include "kernels/wgsl/cross_entropy_sum.h"
#include "kernels/wgsl/lanes_1.h"
#include "kernels/wgsl/lanes_4.h"
#include "kernels/wgsl/row_softmax.h"
#include "kernels/wgsl/soft_cap.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::float_bits;
using device::webgpu::read;
using device::webgpu::read_write;
using device::webgpu::ShaderSource;

namespace {

// One workgroup a row; the caller adds the bindings.
template <typename Args>
Dispatch row_dispatch(const device::webgpu::WebGpuStream& stream, const char* kernel, const ShaderSource& source,
                      const Args& args, float scale, const device::KernelCost& cost) {
  const bool wide = args.vocabulary % 4 == 0;
  Dispatch dispatch;
  dispatch.kernel = kernel;
  dispatch.variant = wide ? "portable" : "scalar";
  dispatch.sources = {wide ? &lanes_4_wgsl : &lanes_1_wgsl, &soft_cap_wgsl, &row_softmax_wgsl, &source};
  dispatch.params = {to_u32(args.rows, kernel),
                     to_u32(wide ? args.vocabulary / 4 : args.vocabulary, kernel),
                     float_bits(scale),
                     float_bits(args.terms.label_smoothing),
                     float_bits(args.terms.z_loss),
                     float_bits(args.terms.soft_cap),
                     float_bits(inverse_cap(args.terms.soft_cap))};
  dispatch.grid = stream.fold(args.rows);
  dispatch.cost = cost;
  return dispatch;
}

// The sum of the losses and the number of targets, if anybody wants them.
template <typename Args>
void sum_losses(device::webgpu::WebGpuStream& stream, const char* kernel, const Args& args) {
  if (!args.totals) return;
  Dispatch dispatch;
  dispatch.kernel = kernel;
  dispatch.pass = "sum";
  dispatch.sources = {&cross_entropy_sum_wgsl};
  dispatch.bindings = {read(args.losses), read(args.targets), read_write(args.totals)};
  dispatch.params = {to_u32(args.rows, kernel), to_u32(args.vocabulary, kernel),
                     args.accumulate_totals == Accumulate::Yes ? 1U : 0U};
  dispatch.cost = {static_cast<double>(args.rows), 8 * static_cast<double>(args.rows)};
  stream.dispatch(dispatch);
}

}  // namespace

void cross_entropy_webgpu(device::webgpu::WebGpuStream& stream, const CrossEntropy& args,
                          const device::KernelCost& cost) {
  Dispatch dispatch = row_dispatch(stream, "cross_entropy", cross_entropy_wgsl, args, 1, cost);
  dispatch.bindings = {read(args.logits), read(args.targets), read_write(args.losses)};
  stream.dispatch(dispatch);
  sum_losses(stream, "cross_entropy", args);
}

void cross_entropy_backward_webgpu(device::webgpu::WebGpuStream& stream, const CrossEntropyBackward& args,
                                   const device::KernelCost& cost) {
  Dispatch dispatch =
      row_dispatch(stream, "cross_entropy_backward", cross_entropy_backward_wgsl, args, args.scale, cost);
  dispatch.bindings = {read(args.logits), read(args.targets), read_write(args.d_logits)};
  stream.dispatch(dispatch);
}

void cross_entropy_in_place_webgpu(device::webgpu::WebGpuStream& stream, const CrossEntropyFused& args,
                                   const device::KernelCost& cost) {
  Dispatch dispatch =
      row_dispatch(stream, "cross_entropy_in_place", cross_entropy_in_place_wgsl, args, args.scale, cost);
  dispatch.bindings = {read_write(args.logits_to_gradient), read(args.targets), read_write(args.losses)};
  stream.dispatch(dispatch);
  sum_losses(stream, "cross_entropy_in_place", args);
}

}  // namespace athanor::kernels
