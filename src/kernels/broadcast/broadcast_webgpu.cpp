// The dispatches over rows that add, sub and mul share, and the tree that sums rows.
#include "kernels/broadcast/broadcast.h"
#include "kernels/wgsl/sum_rows.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::read;
using device::webgpu::read_write;
using device::webgpu::WebGpuStream;

RowDispatch row_dispatch(const WebGpuStream& stream, const char* kernel, const RowShape& shape, int64_t rows,
                         const device::KernelCost& cost) {
  const bool wide = shape.columns % 4 == 0;
  const int64_t columns = wide ? shape.columns / 4 : shape.columns;
  RowDispatch result{{}, to_u32(columns, kernel)};
  result.dispatch.kernel = kernel;
  result.dispatch.variant = wide ? "portable" : "scalar";
  result.dispatch.prelude = wide ? "alias Value = vec4<f32>;\n" : "alias Value = f32;\n";
  result.dispatch.grid = stream.fold(ceil_div(rows * columns, 256));
  result.dispatch.cost = cost;
  return result;
}

Buffer block_sums(WebGpuStream& stream, const char* kernel, const RowShape& shape, const Buffer& out) {
  const int64_t blocks = ceil_div(shape.rows, kRowBlock);
  if (blocks == 1) return out;
  return stream.device().allocate(blocks * shape.columns * 4, fmt::format("{} sums of row blocks", kernel));
}

void sum_rows(WebGpuStream& stream, const char* kernel, const Buffer& sums, const RowShape& shape, const Buffer& out) {
  Buffer level = sums;
  RowShape of_level{ceil_div(shape.rows, kRowBlock), shape.columns};
  while (of_level.rows > 1) {
    const Buffer next = block_sums(stream, kernel, of_level, out);
    const int64_t blocks = ceil_div(of_level.rows, kRowBlock);
    const double count = static_cast<double>(of_level.rows * of_level.columns);
    RowDispatch pass = row_dispatch(stream, kernel, of_level, blocks, {count, 4.0 * count});
    pass.dispatch.pass = "sum";
    pass.dispatch.sources = {&sum_rows_wgsl};
    pass.dispatch.bindings = {read(level), read_write(next)};
    pass.dispatch.params = {to_u32(of_level.rows, kernel), pass.columns};
    stream.dispatch(pass.dispatch);
    level = next;
    of_level.rows = blocks;
  }
}

Buffer or_unused(WebGpuStream& stream, const Buffer& buffer) {
  return buffer ? buffer : stream.device().allocate(16, "unused operand");
}

}  // namespace athanor::kernels
