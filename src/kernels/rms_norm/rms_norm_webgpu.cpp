// rms_norm through WebGPU, and the launches that rms_norm_residual shares with it.
#include "kernels/rms_norm/rms_norm_internal.h"
#include "kernels/rms_norm/row_tree.h"
#include "kernels/wgsl/rms_norm.h"
#include "kernels/wgsl/rms_norm_backward.h"
#include "kernels/wgsl/rms_norm_backward_rows.h"
#include "kernels/wgsl/rms_norm_rows.h"
#include "kernels/wgsl/sum_blocks.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::float_bits;
using device::webgpu::read;
using device::webgpu::read_write;
using device::webgpu::WebGpuStream;

namespace {

// `wanted` of rms_norm_backward_rows.wgsl.
constexpr uint32_t kWritesDX = 1;
constexpr uint32_t kSumsWeight = 2;
constexpr uint32_t kAddsDY = 4;

// A block is the rows of one workgroup; its sum of d_weight is written once and read once. At most 1024 blocks, which fill a large GPU
// and which one launch adds up; at least 16 rows, so that the sums are a sixteenth of the rows' bytes or less.
constexpr int64_t kMostBlocks = 1024;
constexpr int64_t kFewestRows = 16;

int64_t steps_of(int64_t rows, int64_t rows_per_group) {
  return std::max(ceil_div(kFewestRows, rows_per_group), ceil_div(rows, kMostBlocks * rows_per_group));
}

/// d_weight (+)= the sum of the blocks' sums.
void sum_blocks(WebGpuStream& stream, const NormForm& form, const RmsNormBackward& args, const RowShare& share,
                const Buffer& block_sums, int64_t blocks) {
  Dispatch dispatch;
  dispatch.kernel = form.kernel;
  dispatch.pass = "sum";
  dispatch.variant = share.variant();
  dispatch.sources = {share.lanes(), &sum_blocks_wgsl};
  dispatch.bindings = {read(block_sums), read_write(args.d_weight)};
  dispatch.params = {to_u32(blocks, form.kernel), to_u32(share.length, form.kernel), args.accumulate_weight ? 1U : 0U};
  dispatch.grid = stream.fold(ceil_div(share.length, 4));
  const double count = static_cast<double>(blocks * args.columns);
  dispatch.cost = {count, 4 * count};
  stream.dispatch(dispatch);
}

}  // namespace

void launch_rms_norm(WebGpuStream& stream, const NormForm& form, const RmsNorm& args, const device::KernelCost& cost) {
  const RowShare share = share_rows(args.columns);
  Dispatch dispatch;
  dispatch.kernel = form.kernel;
  dispatch.variant = share.variant();
  dispatch.sources = {share.lanes(), &row_tree_wgsl, &rms_norm_rows_wgsl, form.bindings};
  dispatch.bindings = form.operands;
  dispatch.params = {to_u32(args.rows, form.kernel), to_u32(share.length, form.kernel),
                     static_cast<uint32_t>(share.row_threads), float_bits(args.eps), float_bits(args.weight_offset)};
  dispatch.grid = stream.fold(ceil_div(args.rows, share.rows_per_group));
  dispatch.cost = cost;
  stream.dispatch(dispatch);
}

void launch_rms_norm_backward(WebGpuStream& stream, const NormForm& form, const RmsNormBackward& args,
                              const device::KernelCost& cost) {
  const RowShare share = share_rows(args.columns);
  const int64_t steps = steps_of(args.rows, share.rows_per_group);
  const int64_t blocks = ceil_div(args.rows, steps * share.rows_per_group);
  // What nobody wants is bound all the same, to a buffer of one Value.
  const auto scratch = [&] { return stream.device().allocate(16, form.kernel); };
  const Buffer d_x = args.d_x ? args.d_x : scratch();
  const Buffer block_sums =
      args.d_weight && blocks > 0 ? stream.device().allocate(blocks * args.columns * 4, form.kernel) : scratch();
  if (blocks > 0) {
    Dispatch dispatch;
    dispatch.kernel = form.kernel;
    dispatch.variant = share.variant();
    dispatch.sources = {share.lanes(), &row_tree_wgsl, &rms_norm_backward_rows_wgsl, form.bindings};
    dispatch.bindings = form.operands;
    dispatch.bindings.push_back(read_write(d_x));
    dispatch.bindings.push_back(read_write(block_sums));
    dispatch.params = {
        to_u32(args.rows, form.kernel),
        to_u32(share.length, form.kernel),
        static_cast<uint32_t>(share.row_threads),
        to_u32(steps, form.kernel),
        (args.d_x ? kWritesDX : 0U) | (args.d_weight ? kSumsWeight : 0U) | (form.adds_d_y ? kAddsDY : 0U),
        float_bits(args.eps),
        float_bits(args.weight_offset)};
    dispatch.grid = stream.fold(blocks);
    dispatch.cost = cost;
    stream.dispatch(dispatch);
  }
  if (args.d_weight) sum_blocks(stream, form, args, share, block_sums, blocks);
}

void rms_norm_webgpu(WebGpuStream& stream, const RmsNorm& args, const device::KernelCost& cost) {
  launch_rms_norm(stream, {"rms_norm", &rms_norm_wgsl, {read(args.x), read(args.weight), read_write(args.out)}}, args,
                  cost);
}

void rms_norm_backward_webgpu(WebGpuStream& stream, const RmsNormBackward& args, const device::KernelCost& cost) {
  launch_rms_norm_backward(
      stream, {"rms_norm_backward", &rms_norm_backward_wgsl, {read(args.d_out), read(args.x), read(args.weight)}}, args,
      cost);
}

}  // namespace athanor::kernels
