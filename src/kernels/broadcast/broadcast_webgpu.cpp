// The dispatches over rows that add, sub and mul share, and the tree that sums rows.
#include "kernels/broadcast/broadcast.h"
#include "kernels/wgsl/sum_rows.h"

namespace athanor::kernels {

using device::webgpu::read;
using device::webgpu::read_write;
using device::webgpu::WebGpuStream;

namespace {

// As in sum_rows.wgsl: the rows of a workgroup, and its columns in Values.
constexpr int64_t kSumBlock = 2048;
constexpr int64_t kSumColumns = 8;

}  // namespace

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

Buffer block_sums(WebGpuStream& stream, const char* kernel, int64_t blocks, int64_t columns, const Buffer& out) {
  if (blocks == 1) return out;
  return stream.device().allocate(blocks * columns * 4, fmt::format("{} sums of row blocks", kernel));
}

void sum_rows(WebGpuStream& stream, const char* kernel, const Buffer& sums, const RowShape& shape, const Buffer& out) {
  Buffer level = sums;
  int64_t rows = ceil_div(shape.rows, kRowBlock);
  while (rows > 1) {
    const int64_t blocks = ceil_div(rows, kSumBlock);
    const Buffer next = block_sums(stream, kernel, blocks, shape.columns, out);
    const double count = static_cast<double>(rows * shape.columns);
    RowDispatch pass = row_dispatch(stream, kernel, shape, blocks, {count, 4.0 * count});
    pass.dispatch.pass = "sum";
    pass.dispatch.sources = {&sum_rows_wgsl};
    pass.dispatch.bindings = {read(level), read_write(next)};
    pass.dispatch.params = {to_u32(rows, kernel), pass.columns};
    pass.dispatch.grid = stream.fold(blocks * ceil_div(pass.columns, kSumColumns));
    stream.dispatch(pass.dispatch);
    level = next;
    rows = blocks;
  }
}

Buffer or_unused(WebGpuStream& stream, const Buffer& buffer) {
  return buffer ? buffer : stream.device().allocate(16, "unused operand");
}

}  // namespace athanor::kernels
