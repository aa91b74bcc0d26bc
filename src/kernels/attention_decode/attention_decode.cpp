// The door of attention_decode: checks of shapes, choice of device, and its entry in the table of kernels.
#include "kernels/attention_decode/attention_decode.h"

#include "kernels/attention_decode/attention_decode_internal.h"
#include "kernels/attention_decode/attention_decode_reference.h"
#include "kernels/kernel_info.h"

#include <algorithm>

namespace athanor::kernels {

AttentionTiles decode_tiles(const AttentionDecode& args, const Buffer& log_sum_exp) {
  AttentionTiles tiles;
  tiles.q = args.q;
  tiles.k = args.k_cache;
  tiles.v = args.v_cache;
  tiles.out = args.out;
  tiles.log_sum_exp = log_sum_exp;
  tiles.batch = 1;
  tiles.length = args.rows;
  tiles.key_rows = args.capacity;
  tiles.first_position = args.position;
  tiles.heads = args.heads;
  tiles.kv_heads = args.kv_heads;
  tiles.head_dim = args.head_dim;
  tiles.scale = args.scale;
  tiles.window = args.window;
  tiles.soft_cap = args.soft_cap;
  return tiles;
}

device::KernelCost attention_decode_cost(const AttentionDecode& args) {
  const double pairs = static_cast<double>(args.heads) * seen_pairs(args.rows, args.position, args.window);
  const int64_t end = args.position + args.rows;
  const int64_t cache_rows = args.window == 0 ? end : std::min(end, args.window + args.rows - 1);
  const int64_t values = cache_rows * args.kv_heads + args.rows * args.heads;
  return {4 * pairs * static_cast<double>(args.head_dim), 8.0 * static_cast<double>(values * args.head_dim)};
}

void attention_decode(Stream& stream, const AttentionDecode& args) {
  constexpr std::string_view kKernel = "attention_decode";
  check_heads(kKernel, args.heads, args.kv_heads, args.head_dim);
  check_window_and_cap(kKernel, args.window, args.soft_cap);
  check(args.rows > 0 && args.position >= 0, "{}: {} rows at position {}; pass at least one row, at 0 or later",
        kKernel, args.rows, args.position);
  check(args.position + args.rows <= args.capacity, "{}: rows {} to {} do not fit a cache of {}; make the cache longer",
        kKernel, args.position, args.position + args.rows - 1, args.capacity);
  check_size(kKernel, "q", args.q, args.rows * args.heads * args.head_dim);
  check_size(kKernel, "k_cache", args.k_cache, args.capacity * args.kv_heads * args.head_dim);
  check_size(kKernel, "v_cache", args.v_cache, args.capacity * args.kv_heads * args.head_dim);
  check_size(kKernel, "out", args.out, args.rows * args.heads * args.head_dim);
  const device::KernelCost cost = attention_decode_cost(args);
  launch(
      stream, kKernel, cost, [&](auto& cpu) { attention_decode_cpu(cpu, args); },
      [&](auto& webgpu) { attention_decode_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> attention_decode_kernels() {
  return {{"attention_decode", "attention of new tokens over a key/value cache", attention_decode_cases(),
           attention_decode_bench}};
}

}  // namespace athanor::kernels
