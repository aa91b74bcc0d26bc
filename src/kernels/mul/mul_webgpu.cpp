// mul through WebGPU.
#include "kernels/mul/mul_internal.h"
#include "kernels/wgsl/mul.h"
#include "kernels/wgsl/mul_backward.h"

namespace athanor::kernels {

using device::webgpu::read;
using device::webgpu::read_write;
using device::webgpu::WebGpuStream;

void mul_webgpu(WebGpuStream& stream, const Mul& args, const RowShape& shape, const device::KernelCost& cost) {
  RowDispatch rows = row_dispatch(stream, "mul", shape, shape.rows, cost);
  rows.dispatch.sources = {&mul_wgsl};
  rows.dispatch.bindings = {read(args.a), read(args.b), read_write(args.out)};
  rows.dispatch.params = {to_u32(shape.rows * rows.columns, "mul"), rows.columns};
  stream.dispatch(rows.dispatch);
}

void mul_backward_webgpu(WebGpuStream& stream, const MulBackward& args, const RowShape& shape,
                         const device::KernelCost& cost) {
  const char* kernel = "mul_backward";
  const int64_t blocks = ceil_div(shape.rows, kRowBlock);
  const Buffer sums = args.d_b ? block_sums(stream, kernel, blocks, shape.columns, args.d_b) : Buffer();
  RowDispatch rows = row_dispatch(stream, kernel, shape, blocks, cost);
  rows.dispatch.sources = {&mul_backward_wgsl};
  rows.dispatch.bindings = {read(args.d_out), read(args.a), read(args.b), read_write(or_unused(stream, args.d_a)),
                            read_write(or_unused(stream, sums))};
  rows.dispatch.params = {to_u32(shape.rows, kernel), rows.columns, args.d_a ? 1U : 0U, args.d_b ? 1U : 0U};
  stream.dispatch(rows.dispatch);
  if (args.d_b) sum_rows(stream, kernel, sums, shape, args.d_b);
}

}  // namespace athanor::kernels
