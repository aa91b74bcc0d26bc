// conv1d through WebGPU.
#include "kernels/conv1d/conv1d_internal.h"
#include "kernels/rms_norm/row_tree.h"
#include "kernels/wgsl/conv1d.h"
#include "kernels/wgsl/conv1d_backward.h"
#include "kernels/wgsl/conv1d_backward_sum.h"
#include "kernels/wgsl/conv1d_join_1.h"
#include "kernels/wgsl/conv1d_join_4.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::read;
using device::webgpu::read_write;
using device::webgpu::WebGpuStream;

namespace {

constexpr int64_t kThreads = 256;

// `wanted` of conv1d_backward.wgsl and of conv1d_backward_sum.wgsl.
constexpr uint32_t kWritesDX = 1;
constexpr uint32_t kSums = 2;
constexpr uint32_t kWritesDWeight = 1;
constexpr uint32_t kWritesDBias = 2;
constexpr uint32_t kAdds = 4;

const device::webgpu::ShaderSource* join_of(const RowShare& share) {
  return share.is_wide ? &conv1d_join_4_wgsl : &conv1d_join_1_wgsl;
}

// What nobody wants is bound all the same, to a buffer of its own of one Value.
Buffer or_scratch(WebGpuStream& stream, const Buffer& wanted) {
  return wanted ? wanted : stream.device().allocate(16, "conv1d_backward");
}

void sum_segments(WebGpuStream& stream, const Conv1dBackward& args, const Buffer& segment_sums, int64_t segments) {
  const char* kernel = "conv1d_backward";
  const int64_t entries = args.batch * segments;  // of a channel
  const int64_t row_threads = row_threads_of(entries);
  const uint32_t wanted = (args.d_weight ? kWritesDWeight : 0U) | (args.d_bias ? kWritesDBias : 0U) |
                          (args.accumulate == Accumulate::Yes ? kAdds : 0U);
  Dispatch dispatch;
  dispatch.kernel = kernel;
  dispatch.pass = "sum";
  dispatch.sources = {&row_tree_wgsl, &conv1d_backward_sum_wgsl};
  dispatch.bindings = {read(segment_sums), read_write(or_scratch(stream, args.d_weight)),
                       read_write(or_scratch(stream, args.d_bias))};
  dispatch.params = {to_u32(args.batch, kernel), to_u32(args.channels, kernel), to_u32(segments, kernel),
                     static_cast<uint32_t>(row_threads), wanted};
  dispatch.grid = stream.fold(ceil_div(args.channels, kRowTreeThreads / row_threads));
  const double count = static_cast<double>(args.channels * entries);
  dispatch.cost = {4 * count, 16 * count};
  stream.dispatch(dispatch);
}

}  // namespace

void conv1d_webgpu(WebGpuStream& stream, const Conv1d& args, const device::KernelCost& cost) {
  const RowShare share = share_rows(args.length);
  const int64_t rows = args.batch * args.channels;
  Dispatch dispatch;
  dispatch.kernel = "conv1d";
  dispatch.variant = share.variant();
  dispatch.sources = {share.lanes(), join_of(share), &conv1d_wgsl};
  dispatch.bindings = {read(args.x), read(args.weight), read(args.bias), read_write(args.out)};
  dispatch.params = {to_u32(rows, "conv1d"), to_u32(share.length, "conv1d"), to_u32(args.channels, "conv1d")};
  dispatch.grid = stream.fold(ceil_div(rows * share.length, kThreads));
  dispatch.cost = cost;
  stream.dispatch(dispatch);
}

void conv1d_backward_webgpu(WebGpuStream& stream, const Conv1dBackward& args, const device::KernelCost& cost) {
  const char* kernel = "conv1d_backward";
  const RowShare share = share_rows(args.length);
  const int64_t rows = args.batch * args.channels;
  const int64_t segments = ceil_div(share.length, kRowTreeKeep * share.row_threads);
  const bool needs_sums = args.d_weight || args.d_bias;
  const Buffer segment_sums = stream.device().allocate(needs_sums ? rows * segments * 16 : 16, kernel);
  Dispatch dispatch;
  dispatch.kernel = kernel;
  dispatch.variant = share.variant();
  dispatch.sources = {share.lanes(), join_of(share), &row_tree_wgsl, &conv1d_backward_wgsl};
  dispatch.bindings = {read(args.d_out), read(args.x), read(args.weight), read_write(or_scratch(stream, args.d_x)),
                       read_write(segment_sums)};
  dispatch.params = {to_u32(rows, kernel),          to_u32(share.length, kernel),
                     to_u32(args.channels, kernel), static_cast<uint32_t>(share.row_threads),
                     to_u32(segments, kernel),      (args.d_x ? kWritesDX : 0U) | (needs_sums ? kSums : 0U)};
  dispatch.grid = stream.fold(ceil_div(rows * segments, share.rows_per_group));
  dispatch.cost = cost;
  stream.dispatch(dispatch);
  if (needs_sums) sum_segments(stream, args, segment_sums, segments);
}

}  // namespace athanor::kernels
