// mse_loss through WebGPU.
#include "kernels/elementwise.h"
#include "kernels/mse_loss/mse_loss_internal.h"
#include "kernels/rms_norm/row_tree.h"
#include "kernels/wgsl/mse_loss.h"
#include "kernels/wgsl/mse_loss_backward.h"
#include "kernels/wgsl/mse_loss_sum.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::float_bits;
using device::webgpu::read;
using device::webgpu::read_write;
using device::webgpu::WebGpuStream;

namespace {

// Values that a block sums: at least 4 a thread; from 4096 blocks on, more, so that one workgroup can add up the blocks' sums.
constexpr int64_t kMostBlocks = 4096;
constexpr int64_t kFewestSteps = 4;

void sum_all(WebGpuStream& stream, const MseLoss& args, const Buffer& block_sums, int64_t blocks) {
  Dispatch dispatch;
  dispatch.kernel = "mse_loss";
  dispatch.pass = "sum";
  dispatch.sources = {&row_tree_wgsl, &mse_loss_sum_wgsl};
  dispatch.bindings = {read(block_sums), read_write(args.loss)};
  dispatch.params = {to_u32(blocks, "mse_loss"), float_bits(0.5F * args.scale)};
  dispatch.cost = {static_cast<double>(blocks), 4.0 * static_cast<double>(blocks)};
  stream.dispatch(dispatch);
}

}  // namespace

void mse_loss_webgpu(WebGpuStream& stream, const MseLoss& args, const device::KernelCost& cost) {
  const RowShare share = share_rows(args.count);
  const int64_t steps = std::max(kFewestSteps, ceil_div(share.length, kMostBlocks * kRowTreeThreads));
  const int64_t blocks = ceil_div(share.length, steps * kRowTreeThreads);
  const Buffer block_sums = stream.device().allocate(blocks * 4, "mse_loss block sums");
  Dispatch dispatch;
  dispatch.kernel = "mse_loss";
  dispatch.variant = share.variant();
  dispatch.sources = {share.lanes(), &row_tree_wgsl, &mse_loss_wgsl};
  dispatch.bindings = {read(args.prediction), read(args.wanted), read_write(block_sums)};
  dispatch.params = {to_u32(share.length, "mse_loss"), to_u32(steps, "mse_loss")};
  dispatch.grid = stream.fold(blocks);
  dispatch.cost = cost;
  stream.dispatch(dispatch);
  sum_all(stream, args, block_sums, blocks);
}

void mse_loss_backward_webgpu(WebGpuStream& stream, const MseLossBackward& args, const device::KernelCost& cost) {
  Dispatch dispatch = elementwise_dispatch(stream, "mse_loss_backward", args.count, cost);
  dispatch.sources = {&mse_loss_backward_wgsl};
  dispatch.bindings = {read(args.prediction), read(args.wanted), read_write(args.d_prediction)};
  dispatch.params.push_back(float_bits(args.scale));
  stream.dispatch(dispatch);
}

}  // namespace athanor::kernels
