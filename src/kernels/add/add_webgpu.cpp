// add, sub, their gradients and gradient_accumulate through WebGPU.
#include "kernels/add/add_internal.h"
#include "kernels/elementwise.h"
#include "kernels/wgsl/add.h"
#include "kernels/wgsl/add_backward.h"
#include "kernels/wgsl/gradient_accumulate.h"
#include "kernels/wgsl/sub.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::float_bits;
using device::webgpu::read;
using device::webgpu::read_write;
using device::webgpu::ShaderSource;
using device::webgpu::WebGpuStream;

namespace {

void run(WebGpuStream& stream, const char* kernel, const ShaderSource& shader, const Add& args, const RowShape& shape,
         const device::KernelCost& cost) {
  RowDispatch rows = row_dispatch(stream, kernel, shape, shape.rows, cost);
  rows.dispatch.sources = {&shader};
  rows.dispatch.bindings = {read(args.a), read(args.b), read_write(args.out)};
  rows.dispatch.params = {to_u32(shape.rows * rows.columns, kernel), rows.columns};
  stream.dispatch(rows.dispatch);
}

}  // namespace

void add_webgpu(WebGpuStream& stream, const Add& args, const RowShape& shape, const device::KernelCost& cost) {
  run(stream, "add", add_wgsl, args, shape, cost);
}

void sub_webgpu(WebGpuStream& stream, const Sub& args, const RowShape& shape, const device::KernelCost& cost) {
  run(stream, "sub", sub_wgsl, args, shape, cost);
}

void add_backward_webgpu(WebGpuStream& stream, const char* kernel, const AddBackward& args, const RowShape& shape,
                         float sign, const device::KernelCost& cost) {
  const int64_t blocks = ceil_div(shape.rows, kRowBlock);
  const Buffer sums = args.d_b ? block_sums(stream, kernel, blocks, shape.columns, args.d_b) : Buffer();
  RowDispatch rows = row_dispatch(stream, kernel, shape, blocks, cost);
  rows.dispatch.sources = {&add_backward_wgsl};
  rows.dispatch.bindings = {read(args.d_out), read_write(or_unused(stream, args.d_a)),
                            read_write(or_unused(stream, sums))};
  rows.dispatch.params = {to_u32(shape.rows, kernel), rows.columns, float_bits(sign), args.d_a ? 1U : 0U,
                          args.d_b ? 1U : 0U};
  stream.dispatch(rows.dispatch);
  if (args.d_b) sum_rows(stream, kernel, sums, shape, args.d_b);
}

void gradient_accumulate_webgpu(WebGpuStream& stream, const AddInto& args, const device::KernelCost& cost) {
  Dispatch dispatch = elementwise_dispatch(stream, "gradient_accumulate", args.count, cost);
  dispatch.sources = {&gradient_accumulate_wgsl};
  dispatch.bindings = {read(args.from), read_write(args.into)};
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
