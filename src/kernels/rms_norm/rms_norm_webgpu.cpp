// rms_norm through WebGPU.
#include "kernels/rms_norm/rms_norm_internal.h"
#include "kernels/wgsl/rms_norm.h"
#include "kernels/wgsl/rms_norm_backward.h"
#include "kernels/wgsl/rms_norm_backward_weight.h"
#include "kernels/wgsl/sum_blocks.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::float_bits;
using device::webgpu::Grid;
using device::webgpu::read;
using device::webgpu::read_write;

namespace {

constexpr uint32_t kThreads = 256;

}  // namespace

void rms_norm_webgpu(device::webgpu::WebGpuStream& stream, const RmsNorm& args, const device::KernelCost& cost) {
  Dispatch dispatch;
  dispatch.kernel = "rms_norm";
  dispatch.sources = {&rms_norm_wgsl};
  dispatch.bindings = {read(args.x), read(args.weight), read_write(args.out)};
  dispatch.params = {to_u32(args.rows, "rms_norm"), to_u32(args.columns, "rms_norm"), float_bits(args.eps),
                     float_bits(args.weight_offset)};
  dispatch.grid = stream.fold(args.rows);
  dispatch.cost = cost;
  stream.dispatch(dispatch);
}

void rms_norm_backward_webgpu(device::webgpu::WebGpuStream& stream, const RmsNormBackward& args,
                              const device::KernelCost& cost) {
  const uint32_t rows = to_u32(args.rows, "rms_norm_backward");
  const uint32_t columns = to_u32(args.columns, "rms_norm_backward");
  const Buffer inverse = stream.device().allocate(args.rows * 4, "rms_norm_backward inverse");
  const Buffer d_x =
      args.d_x ? args.d_x : stream.device().allocate(args.rows * args.columns * 4, "rms_norm_backward d_x");

  Dispatch rows_pass;
  rows_pass.kernel = "rms_norm_backward";
  rows_pass.sources = {&rms_norm_backward_wgsl};
  rows_pass.bindings = {read(args.d_out), read(args.x), read(args.weight), read_write(d_x), read_write(inverse)};
  rows_pass.params = {rows, columns, float_bits(args.eps), float_bits(args.weight_offset)};
  rows_pass.grid = stream.fold(args.rows);
  rows_pass.cost = cost;
  stream.dispatch(rows_pass);
  if (!args.d_weight) return;

  const int64_t blocks = ceil_div(args.rows, kRmsNormRowBlock);
  const Buffer partial = stream.device().allocate(blocks * args.columns * 4, "rms_norm_backward partial sums");
  const uint32_t column_groups = (columns + kThreads - 1) / kThreads;
  const Grid folded = stream.fold(blocks);

  Dispatch weight_pass;
  weight_pass.kernel = "rms_norm_backward";
  weight_pass.sources = {&rms_norm_backward_weight_wgsl};
  weight_pass.bindings = {read(args.d_out), read(args.x), read(inverse), read_write(partial)};
  weight_pass.params = {rows, columns, static_cast<uint32_t>(kRmsNormRowBlock)};
  weight_pass.grid = {column_groups, folded.x, folded.y};
  weight_pass.cost = {3.0 * static_cast<double>(args.rows * args.columns),
                      8.0 * static_cast<double>(args.rows * args.columns)};
  stream.dispatch(weight_pass);

  Dispatch sum_pass;
  sum_pass.kernel = "rms_norm_backward";
  sum_pass.sources = {&sum_blocks_wgsl};
  sum_pass.bindings = {read(partial), read_write(args.d_weight)};
  sum_pass.params = {to_u32(blocks, "rms_norm_backward"), columns, args.accumulate_weight ? 1U : 0U};
  sum_pass.grid = {column_groups, 1, 1};
  stream.dispatch(sum_pass);
}

}  // namespace athanor::kernels
