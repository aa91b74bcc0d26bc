// The door of rope_attention_decode: checks, one launch or two kernels, and its entry in the table of kernels.
#include "kernels/rope_attention_decode/rope_attention_decode.h"

#include "kernels/attention/attention_internal.h"
#include "kernels/attention_decode/attention_decode.h"
#include "kernels/bench_values.h"
#include "kernels/kernel_info.h"
#include "kernels/rope/rope.h"
#include "kernels/rope_attention_decode/rope_attention_decode_internal.h"
#include "kernels/rope_attention_decode/rope_attention_decode_reference.h"
#include "kernels/rope_to_cache/rope_to_cache.h"

#include <algorithm>

namespace athanor::kernels {

namespace {

constexpr std::string_view kKernel = "rope_attention_decode";

void check_args(const RopeAttentionDecode& args) {
  check_heads(kKernel, args.heads, args.kv_heads, args.head_dim);
  check(args.head_dim % 2 == 0, "{}: heads of {} values cannot be rotated in pairs; use an even head width", kKernel,
        args.head_dim);
  check(args.position >= 0 && args.position < args.capacity,
        "{}: position {} does not lie within a cache of {}; make the cache longer", kKernel, args.position,
        args.capacity);
  const int64_t kv_columns = args.kv_heads * args.head_dim;
  check_size(kKernel, "q", args.q, args.heads * args.head_dim);
  check_size(kKernel, "k", args.k, kv_columns);
  check_size(kKernel, "v", args.v, kv_columns);
  check_size(kKernel, "k_cache", args.k_cache, args.capacity * kv_columns);
  check_size(kKernel, "v_cache", args.v_cache, args.capacity * kv_columns);
  check_size(kKernel, "out", args.out, args.heads * args.head_dim);
  check(args.table && args.table.size_bytes() >= (args.position + 1) * args.head_dim * 4,
        "{}: position {} is asked for but the table of angles does not reach it; make a longer table", kKernel,
        args.position);
}

device::KernelCost cost_of(const RopeAttentionDecode& args) {
  const double rows = static_cast<double>(args.position + 1);
  const auto width = static_cast<double>(args.head_dim);
  return {4 * rows * static_cast<double>(args.heads) * width,
          8 * width * ((rows + 2) * static_cast<double>(args.kv_heads) + static_cast<double>(args.heads))};
}

void run_apart(Stream& stream, const RopeAttentionDecode& args) {
  RopeToCache rope;
  rope.q = args.q;
  rope.k = args.k;
  rope.v = args.v;
  rope.table = args.table;
  rope.rotated = stream.device().allocate(args.q.size_bytes(), "rotated query");
  rope.k_cache = args.k_cache;
  rope.v_cache = args.v_cache;
  rope.rows = 1;
  rope.heads = args.heads;
  rope.kv_heads = args.kv_heads;
  rope.head_dim = args.head_dim;
  rope.position = args.position;
  rope.capacity = args.capacity;
  rope_to_cache(stream, rope);
  attention_decode(stream, {rope.rotated, args.k_cache, args.v_cache, args.out, 1, args.position, args.capacity,
                            args.heads, args.kv_heads, args.head_dim, args.scale});
}

/// The longest cache that one launch takes; its bytes follow from the number of heads.
KernelBench bench(Stream& stream, int64_t bytes) {
  RopeAttentionDecode args;
  args.head_dim = 64;
  args.capacity = kMostRowsOfOneGroup;
  args.position = args.capacity - 1;
  args.kv_heads = std::max<int64_t>(1, bytes / 4 / args.capacity / args.head_dim);
  args.heads = args.kv_heads;
  const int64_t columns = args.kv_heads * args.head_dim;
  args.q = bench_values(stream, columns, 1);
  args.k = bench_values(stream, columns, 2);
  args.v = bench_values(stream, columns, 3);
  args.table = bench_values(stream, args.capacity * args.head_dim, 4);
  args.k_cache = bench_values(stream, args.capacity * columns, 5);
  args.v_cache = bench_values(stream, args.capacity * columns, 6);
  args.out = stream.device().allocate(columns * 4, "bench out");
  args.scale = 0.125F;
  return {fmt::format("cache of {}, heads {}, head width {}", args.capacity, args.heads, args.head_dim), cost_of(args),
          [&stream, args] { rope_attention_decode(stream, args); }};
}

}  // namespace

void rope_attention_decode(Stream& stream, const RopeAttentionDecode& args) {
  check_args(args);
  // The CPU has no launches to save.
  if (stream.backend() == device::Backend::Cpu || !fits_one_launch(args)) return run_apart(stream, args);
  device::webgpu::WebGpuStream& webgpu = device::webgpu::as_webgpu(stream);
  const device::KernelCost cost = cost_of(args);
  webgpu.enter(kKernel, cost);
  rope_attention_decode_webgpu(webgpu, args, cost);
}

std::vector<KernelInfo> rope_attention_decode_kernels() {
  return {{std::string(kKernel), "one token's rope, cache rows and attention over the cache",
           rope_attention_decode_cases(), bench}};
}

}  // namespace athanor::kernels
