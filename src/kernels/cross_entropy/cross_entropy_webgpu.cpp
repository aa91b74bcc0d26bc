// cross_entropy through WebGPU.
#include "kernels/cross_entropy/cross_entropy_internal.h"
#include "kernels/wgsl/cross_entropy.h"
#include "kernels/wgsl/cross_entropy_backward.h"
#include "kernels/wgsl/cross_entropy_in_place.h"
#include "kernels/wgsl/lanes_1.h"
#include "kernels/wgsl/lanes_4.h"
#include "kernels/wgsl/row_softmax.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::float_bits;
using device::webgpu::read;
using device::webgpu::read_write;
using device::webgpu::ShaderSource;

namespace {

// One workgroup a row; the caller adds the bindings, and the scale if there is one.
Dispatch row_dispatch(const device::webgpu::WebGpuStream& stream, const char* kernel, const ShaderSource& source,
                      int64_t rows, int64_t vocabulary, const device::KernelCost& cost) {
  const bool wide = vocabulary % 4 == 0;
  Dispatch dispatch;
  dispatch.kernel = kernel;
  dispatch.sources = {wide ? &lanes_4_wgsl : &lanes_1_wgsl, &row_softmax_wgsl, &source};
  dispatch.params = {to_u32(rows, kernel), to_u32(wide ? vocabulary / 4 : vocabulary, kernel)};
  dispatch.grid = stream.fold(rows);
  dispatch.cost = cost;
  return dispatch;
}

}  // namespace

void cross_entropy_webgpu(device::webgpu::WebGpuStream& stream, const CrossEntropy& args,
                          const device::KernelCost& cost) {
  Dispatch dispatch = row_dispatch(stream, "cross_entropy", cross_entropy_wgsl, args.rows, args.vocabulary, cost);
  dispatch.bindings = {read(args.logits), read(args.targets), read_write(args.losses)};
  stream.dispatch(dispatch);
}

void cross_entropy_backward_webgpu(device::webgpu::WebGpuStream& stream, const CrossEntropyBackward& args,
                                   const device::KernelCost& cost) {
  Dispatch dispatch =
      row_dispatch(stream, "cross_entropy_backward", cross_entropy_backward_wgsl, args.rows, args.vocabulary, cost);
  dispatch.bindings = {read(args.logits), read(args.targets), read_write(args.d_logits)};
  dispatch.params.push_back(float_bits(args.scale));
  stream.dispatch(dispatch);
}

void cross_entropy_in_place_webgpu(device::webgpu::WebGpuStream& stream, const CrossEntropyFused& args,
                                   const device::KernelCost& cost) {
  Dispatch dispatch =
      row_dispatch(stream, "cross_entropy_in_place", cross_entropy_in_place_wgsl, args.rows, args.vocabulary, cost);
  dispatch.bindings = {read_write(args.logits_to_gradient), read(args.targets), read_write(args.losses)};
  dispatch.params.push_back(float_bits(args.scale));
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
