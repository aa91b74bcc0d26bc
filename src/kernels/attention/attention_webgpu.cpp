// attention through WebGPU: a pipeline for every 32 of head width, long launches cut by work.
#include "kernels/attention/attention_internal.h"
#include "kernels/attention/soft_cap.h"
#include "kernels/many_registers.h"
#include "kernels/wgsl/attention.h"
#include "kernels/wgsl/attention_backward_delta.h"
#include "kernels/wgsl/attention_backward_kv.h"
#include "kernels/wgsl/attention_backward_q.h"
#include "kernels/wgsl/attention_backward_tiles.h"
#include "kernels/wgsl/attention_load_d_out_scalar.h"
#include "kernels/wgsl/attention_load_d_out_vec4.h"
#include "kernels/wgsl/attention_load_scalar.h"
#include "kernels/wgsl/attention_load_vec4.h"
#include "kernels/wgsl/attention_tiles.h"
#include "kernels/wgsl/lanes_1.h"
#include "kernels/wgsl/lanes_4.h"
#include "kernels/wgsl/soft_cap.h"

namespace athanor::kernels {

using device::webgpu::Binding;
using device::webgpu::Dispatch;
using device::webgpu::float_bits;
using device::webgpu::read;
using device::webgpu::read_write;
using device::webgpu::ShaderSource;
using device::webgpu::WebGpuStream;

namespace {

constexpr uint32_t kTile = 32;   // TILE in attention_tiles.wgsl
constexpr uint32_t kChunk = 32;  // columns of a row in workgroup memory at a time

constexpr size_t kFirstGroup = 6;  // in Params of attention_tiles.wgsl

// One text for all sizes but for CHUNKS; the scalar one where rows of a head are no whole vectors.
Dispatch tile_dispatch(const TileKernel& names, std::string_view pass, const AttentionTiles& args) {
  const std::string_view kernel = names.kernel;
  Dispatch dispatch;
  dispatch.kernel = kernel;
  dispatch.pass = pass;
  dispatch.variant = args.head_dim % 4 == 0 ? names.vec4_variant : names.scalar_variant;
  dispatch.prelude = fmt::format("const CHUNKS: u32 = {}u;\n", ceil_div(args.head_dim, kChunk));
  dispatch.params = {to_u32(args.length, kernel), to_u32(args.key_rows, kernel), to_u32(args.first_position, kernel),
                     to_u32(args.batch, kernel), to_u32(args.heads, kernel), to_u32(args.kv_heads, kernel), 0, 0,
                     float_bits(args.scale), to_u32(ceil_div(args.head_dim, kChunk), kernel), kChunk / 4, kTile,
                     to_u32(args.head_dim, kernel),
                     // A window as long as the keys hides nothing.
                     to_u32(args.window < args.first_position + args.length ? args.window : 0, kernel),
                     args.first_key ? 1U : 0U, float_bits(args.soft_cap), float_bits(inverse_cap(args.soft_cap))};
  return dispatch;
}

// A binding that is not read still needs a buffer: q, which every kernel here reads anyway.
Binding first_key_or_any(const AttentionTiles& args) { return read(args.first_key ? args.first_key : args.q); }

void dispatch_tiles(WebGpuStream& stream, const Dispatch& dispatch, int64_t groups, const device::KernelCost& cost) {
  // With many registers so many workgroups run at once that a launch of that size has hardly more of them.
  const double speed = has_many_registers(stream) ? 8 : 1;
  dispatch_groups(stream, dispatch, kFirstGroup, groups, cost, speed * kAttentionFlopsPerLaunch);
}

}  // namespace

void dispatch_groups(WebGpuStream& stream, Dispatch dispatch, size_t first_group, int64_t groups,
                     const device::KernelCost& cost, double flops_per_launch) {
  const int64_t launches = std::min(groups, 1 + static_cast<int64_t>(cost.flops / flops_per_launch));
  const int64_t each = ceil_div(groups, launches);
  for (int64_t first = 0; first < groups; first += each) {
    const int64_t count = std::min(each, groups - first);
    const double share = static_cast<double>(count) / static_cast<double>(groups);
    dispatch.params[first_group] = to_u32(first, dispatch.kernel);
    dispatch.params[first_group + 1] = to_u32(count, dispatch.kernel);
    dispatch.grid = stream.fold(count);
    dispatch.cost = {cost.flops * share, cost.bytes * share};
    stream.dispatch(dispatch);
  }
}

Buffer backward_statistics(WebGpuStream& stream, const AttentionBackward& args) {
  const bool vec4 = args.head_dim % 4 == 0;
  const int64_t rows = args.batch * args.length * args.heads;
  Buffer statistics = stream.device().allocate(rows * 8, "attention_backward statistics");
  const double row_values = static_cast<double>(rows * args.head_dim);
  Dispatch delta;
  delta.kernel = "attention_backward";
  delta.pass = "delta";
  delta.variant = vec4 ? "portable" : "scalar";
  delta.sources = {vec4 ? &lanes_4_wgsl : &lanes_1_wgsl, &attention_backward_delta_wgsl};
  delta.bindings = {read(args.out), read(args.d_out), read(args.log_sum_exp), read_write(statistics)};
  delta.params = {to_u32(rows, delta.kernel), to_u32(vec4 ? args.head_dim / 4 : args.head_dim, delta.kernel)};
  delta.grid = stream.fold(ceil_div(rows, 8));
  delta.cost = {2 * row_values, 8 * row_values};
  stream.dispatch(delta);
  return statistics;
}

void attention_tiles_webgpu(WebGpuStream& stream, const TileKernel& names, const AttentionTiles& args,
                            const device::KernelCost& cost) {
  Dispatch dispatch = tile_dispatch(names, "", args);
  dispatch.sources = {args.head_dim % 4 == 0 ? &attention_load_vec4_wgsl : &attention_load_scalar_wgsl, &soft_cap_wgsl,
                      &attention_tiles_wgsl, &attention_wgsl};
  dispatch.bindings = {
      read(args.q),          read(args.k), read(args.v), read_write(args.out), read_write(args.log_sum_exp),
      first_key_or_any(args)};
  dispatch_tiles(stream, dispatch, ceil_div(args.length, kTile) * args.batch * args.heads, cost);
}

void attention_backward_webgpu(WebGpuStream& stream, const AttentionBackward& args, const device::KernelCost& cost) {
  constexpr std::string_view kKernel = "attention_backward";
  const bool vec4 = args.head_dim % 4 == 0;
  const Buffer statistics = backward_statistics(stream, args);
  const AttentionTiles tiles = tiles_of(args);
  const int64_t row_tiles = ceil_div(args.length, kTile) * args.batch;
  const std::vector<const ShaderSource*> sources = {
      vec4 ? &attention_load_vec4_wgsl : &attention_load_scalar_wgsl,
      vec4 ? &attention_load_d_out_vec4_wgsl : &attention_load_d_out_scalar_wgsl, &soft_cap_wgsl, &attention_tiles_wgsl,
      &attention_backward_tiles_wgsl};

  // Of the gradient's products d_q takes three and d_k, d_v four: the two that give the weights are made twice.
  Dispatch queries = tile_dispatch({kKernel, "portable", "scalar"}, "d_q", tiles);
  queries.sources = sources;
  queries.sources.push_back(&attention_backward_q_wgsl);
  queries.bindings = {read(args.q),     read(args.k),         read(args.v),           read(args.d_out),
                      read(statistics), read_write(args.d_q), first_key_or_any(tiles)};
  dispatch_tiles(stream, queries, row_tiles * args.heads, {cost.flops * 0.6, cost.bytes * 0.5});

  Dispatch keys = tile_dispatch({kKernel, "portable", "scalar"}, "", tiles);
  keys.sources = sources;
  keys.sources.push_back(&attention_backward_kv_wgsl);
  keys.bindings = {read(args.q),     read(args.k),         read(args.v),         read(args.d_out),
                   read(statistics), read_write(args.d_k), read_write(args.d_v), first_key_or_any(tiles)};
  dispatch_tiles(stream, keys, row_tiles * args.kv_heads, {cost.flops * 0.8, cost.bytes * 0.5});
}

}  // namespace athanor::kernels
