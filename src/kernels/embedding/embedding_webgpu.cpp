// embedding through WebGPU.
#include "kernels/embedding/embedding_internal.h"
#include "kernels/wgsl/embedding.h"
#include "kernels/wgsl/embedding_backward.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::read;
using device::webgpu::read_write;

namespace {

constexpr int64_t kThreads = 256;

struct Width {
  int64_t columns;  // in Values
  const char* variant;
  const char* prelude;
};

Width width_of(int64_t columns) {
  if (columns % 4 == 0) return {columns / 4, "portable", "alias Value = vec4<f32>;\n"};
  return {columns, "scalar", "alias Value = f32;\n"};
}

}  // namespace

void embedding_webgpu(device::webgpu::WebGpuStream& stream, const Embedding& args, const device::KernelCost& cost) {
  const Width width = width_of(args.columns);
  Dispatch dispatch;
  dispatch.kernel = "embedding";
  dispatch.sources = {&embedding_wgsl};
  dispatch.variant = width.variant;
  dispatch.prelude = width.prelude;
  dispatch.bindings = {read(args.table), read(args.ids), read_write(args.out)};
  dispatch.params = {to_u32(args.rows, "embedding"), to_u32(width.columns, "embedding"),
                     to_u32(args.vocabulary, "embedding")};
  dispatch.grid = stream.fold(ceil_div(args.rows * width.columns, kThreads));
  dispatch.cost = cost;
  stream.dispatch(dispatch);
}

void embedding_backward_webgpu(device::webgpu::WebGpuStream& stream, const EmbeddingBackward& args,
                               const device::KernelCost& cost) {
  const Width width = width_of(args.columns);
  Dispatch dispatch;
  dispatch.kernel = "embedding_backward";
  dispatch.sources = {&embedding_backward_wgsl};
  dispatch.variant = width.variant;
  dispatch.prelude = width.prelude;
  dispatch.bindings = {read(args.d_out), read(args.order), read_write(args.d_table)};
  dispatch.params = {to_u32(args.rows, "embedding_backward"), to_u32(width.columns, "embedding_backward"),
                     to_u32(args.vocabulary, "embedding_backward"), args.accumulate == Accumulate::Yes ? 1U : 0U};
  dispatch.grid = stream.fold(ceil_div(args.vocabulary * width.columns, kThreads));
  dispatch.cost = cost;
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
