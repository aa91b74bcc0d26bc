// sum, gradient_norm_squared and finalize_grad_stats through WebGPU.
#include "kernels/gradient_norm/gradient_norm_internal.h"
#include "kernels/wgsl/block_sums_total.h"
#include "kernels/wgsl/block_tree.h"
#include "kernels/wgsl/finalize_grad_stats.h"
#include "kernels/wgsl/gradient_norm_block.h"
#include "kernels/wgsl/gradient_norm_squared.h"
#include "kernels/wgsl/gradient_norm_tensors.h"
#include "kernels/wgsl/lanes_1.h"
#include "kernels/wgsl/lanes_4.h"
#include "kernels/wgsl/lanes_u32_1.h"
#include "kernels/wgsl/lanes_u32_4.h"
#include "kernels/wgsl/sum_total.h"
#include "kernels/wgsl/sum_values.h"
#include "kernels/wgsl/tensor_norm_squared.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::float_bits;
using device::webgpu::read;
using device::webgpu::read_write;

void sum_webgpu(device::webgpu::WebGpuStream& stream, const Sum& args, const device::KernelCost& cost) {
  const int64_t blocks = norm_blocks(args.count);
  const Buffer block_sums = stream.device().allocate(blocks * 4, "sum block sums");
  const bool wide = args.count % 4 == 0;

  Dispatch block_pass;
  block_pass.kernel = "sum";
  block_pass.variant = wide ? "portable" : "scalar";
  block_pass.sources = {&block_tree_wgsl, wide ? &lanes_4_wgsl : &lanes_1_wgsl, &sum_values_wgsl};
  block_pass.bindings = {read(args.values), read_write(block_sums)};
  block_pass.params = {to_u32(wide ? args.count / 4 : args.count, "sum")};
  block_pass.grid = stream.fold(blocks);
  block_pass.cost = cost;
  stream.dispatch(block_pass);

  Dispatch total_pass;
  total_pass.kernel = "sum";
  total_pass.pass = "total";
  total_pass.sources = {&block_tree_wgsl, &sum_total_wgsl};
  total_pass.bindings = {read(block_sums), read_write(args.out)};
  total_pass.params = {to_u32(blocks, "sum"), args.accumulate == Accumulate::Yes ? 1U : 0U};
  stream.dispatch(total_pass);
}

namespace {

/// What both forms of the first pass share.
Dispatch norm_dispatch(const GradientNorm& args, const device::KernelCost& cost) {
  Dispatch dispatch;
  dispatch.kernel = "gradient_norm_squared";
  dispatch.sources = {&block_tree_wgsl, args.count % 4 == 0 ? &lanes_u32_4_wgsl : &lanes_u32_1_wgsl,
                      &gradient_norm_block_wgsl};
  dispatch.cost = cost;
  return dispatch;
}

void tensor_norms(device::webgpu::WebGpuStream& stream, const GradientNorm& args, const device::KernelCost& cost) {
  const NormTable& table = args.tensors;
  Dispatch blocks = norm_dispatch(args, cost);
  blocks.variant = args.count % 4 == 0 ? "tensors" : "tensors_scalar";
  blocks.sources.push_back(&gradient_norm_tensors_wgsl);
  blocks.bindings = {read(args.gradients), read(table.blocks), read_write(args.partial)};
  blocks.params = {to_u32(table.block_count, "gradient_norm_squared")};
  blocks.grid = stream.fold(table.block_count);
  stream.dispatch(blocks);

  Dispatch tensors;
  tensors.kernel = "gradient_norm_squared";
  tensors.pass = "tensor";
  tensors.sources = {&block_tree_wgsl, &block_sums_total_wgsl, &tensor_norm_squared_wgsl};
  tensors.bindings = {read(args.partial), read(table.tensors), read_write(args.tensor_sums)};
  tensors.params = {to_u32(table.tensor_count, "gradient_norm_squared")};
  tensors.grid = stream.fold(table.tensor_count);
  tensors.cost = {1.0 * table.block_count, 4.0 * table.block_count};
  stream.dispatch(tensors);
}

}  // namespace

void gradient_norm_squared_webgpu(device::webgpu::WebGpuStream& stream, const GradientNorm& args,
                                  const device::KernelCost& cost) {
  if (args.tensors.blocks) return tensor_norms(stream, args, cost);
  const bool wide = args.count % 4 == 0;
  Dispatch dispatch = norm_dispatch(args, cost);
  dispatch.variant = wide ? "portable" : "scalar";
  dispatch.sources.push_back(&gradient_norm_squared_wgsl);
  dispatch.bindings = {read(args.gradients), read_write(args.partial)};
  dispatch.params = {to_u32(wide ? args.count / 4 : args.count, "gradient_norm_squared")};
  dispatch.grid = stream.fold(norm_blocks(args.count));
  stream.dispatch(dispatch);
}

void finalize_grad_stats_webgpu(device::webgpu::WebGpuStream& stream, const GradStats& args,
                                const device::KernelCost& cost) {
  Dispatch dispatch;
  dispatch.kernel = "finalize_grad_stats";
  dispatch.sources = {&block_tree_wgsl, &block_sums_total_wgsl, &finalize_grad_stats_wgsl};
  dispatch.bindings = {read(args.partial), read_write(args.stats)};
  dispatch.params = {to_u32(args.partials, "finalize_grad_stats"), float_bits(args.max_norm),
                     float_bits(args.largest_norm)};
  dispatch.cost = cost;
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
