// rope_to_cache for the CPU device: the loops of rope, keys straight into the cache's rows, then a copy of v.
#include "device/cpu/simd.h"
#include "kernels/rope/rope_internal.h"
#include "kernels/rope_to_cache/rope_to_cache_internal.h"

#include <cstring>

namespace athanor::kernels {

void rope_to_cache_cpu(device::cpu::CpuStream& stream, const RopeToCache& args) {
  const auto rotate = [&](const Buffer& x, const Buffer& out, int64_t heads) {
    Rope rope;
    rope.x = x;
    rope.table = args.table;
    rope.out = out;
    rope.rows = args.rows;
    rope.heads = heads;
    rope.head_dim = args.head_dim;
    rope.length = args.rows;
    rope.first_position = args.position;
    rope_cpu(stream, rope, 1.0F);
  };
  const int64_t row_bytes = args.kv_heads * args.head_dim * 4;
  const auto new_rows = [&](const Buffer& cache) {
    return cache.slice(args.position * row_bytes, args.rows * row_bytes);
  };
  rotate(args.q, args.rotated, args.heads);
  rotate(args.k, new_rows(args.k_cache), args.kv_heads);
  std::memcpy(device::cpu::data<float>(new_rows(args.v_cache)), device::cpu::data<float>(args.v),
              static_cast<size_t>(args.rows * row_bytes));
}

}  // namespace athanor::kernels
