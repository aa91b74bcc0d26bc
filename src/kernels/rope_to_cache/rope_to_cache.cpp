// The door of rope_to_cache: checks of shapes, choice of device, and its entry in the table of kernels.
#include "kernels/rope_to_cache/rope_to_cache.h"

#include "kernels/bench_values.h"
#include "kernels/kernel_info.h"
#include "kernels/rope/rope.h"
#include "kernels/rope_to_cache/rope_to_cache_internal.h"
#include "kernels/rope_to_cache/rope_to_cache_reference.h"

namespace athanor::kernels {

namespace {

constexpr std::string_view kKernel = "rope_to_cache";

void check_args(const RopeToCache& args) {
  check(args.heads > 0 && args.kv_heads > 0, "{}: {} heads and {} key/value heads; pass at least one of each", kKernel,
        args.heads, args.kv_heads);
  check(args.head_dim > 0 && args.head_dim % 2 == 0,
        "{}: heads of {} values cannot be rotated in pairs; use an even head width", kKernel, args.head_dim);
  check(args.rows > 0 && args.position >= 0, "{}: {} rows at position {}; pass at least one row, at 0 or later",
        kKernel, args.rows, args.position);
  check(args.position + args.rows <= args.capacity, "{}: rows {} to {} do not fit a cache of {}; make the cache longer",
        kKernel, args.position, args.position + args.rows - 1, args.capacity);
  const int64_t kv_columns = args.kv_heads * args.head_dim;
  check_size(kKernel, "q", args.q, args.rows * args.heads * args.head_dim);
  check_size(kKernel, "k", args.k, args.rows * kv_columns);
  check_size(kKernel, "v", args.v, args.rows * kv_columns);
  check_size(kKernel, "rotated", args.rotated, args.rows * args.heads * args.head_dim);
  check_size(kKernel, "k_cache", args.k_cache, args.capacity * kv_columns);
  check_size(kKernel, "v_cache", args.v_cache, args.capacity * kv_columns);
  check(static_cast<bool>(args.table),
        "{}: the table of angles is missing; upload rope_table(positions, head_dim, theta)", kKernel);
  const int64_t row_bytes = args.head_dim * 4;
  check(args.table.size_bytes() % row_bytes == 0,
        "{}: the table has {} bytes, not rows of {} values; make it for this head width", kKernel,
        args.table.size_bytes(), args.head_dim);
  const int64_t positions = args.table.size_bytes() / row_bytes;
  check(args.position + args.rows <= positions,
        "{}: position {} is asked for but the table has {}; make a longer table", kKernel,
        args.position + args.rows - 1, positions);
}

device::KernelCost cost_of(const RopeToCache& args) {
  const double rotated = static_cast<double>(args.rows * (args.heads + args.kv_heads) * args.head_dim);
  const double copied = static_cast<double>(args.rows * args.kv_heads * args.head_dim);
  return {3 * rotated, 8 * (rotated + copied)};
}

/// Rows of a prompt, at the beginning of the caches.
KernelBench bench(Stream& stream, int64_t bytes) {
  RopeToCache args;
  args.heads = 16;
  args.kv_heads = 4;
  args.head_dim = 64;
  args.rows = bytes / 4 / args.heads / args.head_dim;
  args.capacity = args.rows;
  const int64_t kv_values = args.rows * args.kv_heads * args.head_dim;
  args.q = bench_values(stream, bytes / 4, 1);
  args.k = bench_values(stream, kv_values, 2);
  args.v = bench_values(stream, kv_values, 3);
  args.table = bench_values(stream, args.rows * args.head_dim, 4);
  args.rotated = stream.device().allocate(bytes, "bench out");
  args.k_cache = stream.device().allocate(kv_values * 4, "bench out");
  args.v_cache = stream.device().allocate(kv_values * 4, "bench out");
  return {fmt::format("rows {}, heads {}, key/value heads {}, head width {}", args.rows, args.heads, args.kv_heads,
                      args.head_dim),
          cost_of(args), [&stream, args] { rope_to_cache(stream, args); }};
}

}  // namespace

void rope_to_cache(Stream& stream, const RopeToCache& args) {
  check_args(args);
  const device::KernelCost cost = cost_of(args);
  launch(
      stream, kKernel, cost, [&](auto& cpu) { rope_to_cache_cpu(cpu, args); },
      [&](auto& webgpu) { rope_to_cache_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> rope_to_cache_kernels() {
  return {{std::string(kKernel), "rope of new tokens' q and k, with k and v written into the key/value cache",
           rope_to_cache_cases(), bench}};
}

}  // namespace athanor::kernels
