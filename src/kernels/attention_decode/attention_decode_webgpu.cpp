// attention_decode through WebGPU: pieces of the cache side by side, then joined; chunks of a prompt take the tiles of attention.
#include "kernels/attention/soft_cap.h"
#include "kernels/attention_decode/attention_decode_internal.h"
#include "kernels/wgsl/attention_decode.h"
#include "kernels/wgsl/attention_decode_join.h"
#include "kernels/wgsl/attention_load_scalar.h"
#include "kernels/wgsl/attention_load_vec4.h"
#include "kernels/wgsl/soft_cap.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::float_bits;
using device::webgpu::read;
using device::webgpu::read_write;

namespace {

constexpr std::string_view kKernel = "attention_decode";
constexpr int64_t kPieceRows = 128;  // THREADS in attention_decode.wgsl

}  // namespace

void attention_decode_webgpu(device::webgpu::WebGpuStream& stream, const AttentionDecode& args,
                             const device::KernelCost& cost) {
  const int64_t head_rows = args.rows * args.heads;
  if (args.rows >= kDecodeTileRows) {
    const Buffer log_sum_exp = stream.device().allocate(head_rows * 4, "attention_decode log_sum_exp");
    attention_tiles_webgpu(stream, {kKernel, "tiles", "tiles_scalar"}, decode_tiles(args, log_sum_exp), cost);
    return;
  }
  const bool vec4 = args.head_dim % 4 == 0;
  const int64_t first_piece = first_cache_row(args, 0) / kPieceRows;
  const int64_t pieces = ceil_div(args.position + args.rows, kPieceRows) - first_piece;
  const Buffer partial =
      stream.device().allocate(head_rows * pieces * (args.head_dim + 2) * 4, "attention_decode pieces");

  Dispatch each;
  each.kernel = kKernel;
  each.variant = vec4 ? "portable" : "scalar";
  each.sources = {vec4 ? &attention_load_vec4_wgsl : &attention_load_scalar_wgsl, &soft_cap_wgsl,
                  &attention_decode_wgsl};
  each.bindings = {read(args.q), read(args.k_cache), read(args.v_cache), read_write(partial)};
  each.params = {to_u32(head_rows * pieces, kKernel), to_u32(args.position, kKernel), to_u32(args.heads, kKernel),
                 to_u32(args.kv_heads, kKernel), to_u32(first_piece, kKernel), to_u32(pieces, kKernel),
                 // A window as long as the cache hides nothing.
                 to_u32(args.window < args.position + args.rows ? args.window : 0, kKernel), float_bits(args.scale),
                 to_u32(args.head_dim, kKernel), float_bits(args.soft_cap), float_bits(inverse_cap(args.soft_cap))};
  each.grid = stream.fold(head_rows * pieces);
  each.cost = cost;
  stream.dispatch(each);

  Dispatch join;
  join.kernel = kKernel;
  join.pass = "join";
  join.sources = {&attention_decode_join_wgsl};
  join.bindings = {read(partial), read_write(args.out)};
  join.params = {to_u32(head_rows, kKernel), to_u32(pieces, kKernel), to_u32(args.head_dim, kKernel)};
  join.grid = stream.fold(head_rows);
  join.cost = {2.0 * static_cast<double>(head_rows * pieces * args.head_dim),
               4.0 * static_cast<double>(head_rows * (pieces + 1) * args.head_dim)};
  stream.dispatch(join);
}

}  // namespace athanor::kernels
