// softmax through WebGPU.
#include "kernels/rms_norm/row_tree.h"
#include "kernels/softmax/softmax_internal.h"
#include "kernels/wgsl/softmax.h"
#include "kernels/wgsl/softmax_backward.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::read;
using device::webgpu::read_write;

namespace {

// The caller adds the bindings.
Dispatch row_dispatch(const device::webgpu::WebGpuStream& stream, const char* kernel,
                      const device::webgpu::ShaderSource& source, int64_t rows, int64_t columns,
                      const device::KernelCost& cost) {
  const RowShare share = share_rows(columns);
  Dispatch dispatch;
  dispatch.kernel = kernel;
  dispatch.variant = share.variant();
  dispatch.sources = {share.lanes(), &row_tree_wgsl, &source};
  dispatch.params = {to_u32(rows, kernel), to_u32(share.length, kernel), static_cast<uint32_t>(share.row_threads)};
  dispatch.grid = stream.fold(ceil_div(rows, share.rows_per_group));
  dispatch.cost = cost;
  return dispatch;
}

}  // namespace

void softmax_webgpu(device::webgpu::WebGpuStream& stream, const Softmax& args, const device::KernelCost& cost) {
  Dispatch dispatch = row_dispatch(stream, "softmax", softmax_wgsl, args.rows, args.columns, cost);
  dispatch.bindings = {read(args.x), read_write(args.out)};
  stream.dispatch(dispatch);
}

void softmax_backward_webgpu(device::webgpu::WebGpuStream& stream, const SoftmaxBackward& args,
                             const device::KernelCost& cost) {
  Dispatch dispatch = row_dispatch(stream, "softmax_backward", softmax_backward_wgsl, args.rows, args.columns, cost);
  dispatch.bindings = {read(args.d_out), read(args.out), read_write(args.d_x)};
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
