// The two devices' versions of attention_decode, behind its door.
#pragma once

#include "kernels/attention/attention_internal.h"
#include "kernels/attention_decode/attention_decode.h"
#include "kernels/launch.h"

namespace athanor::kernels {

void attention_decode_cpu(device::cpu::CpuStream& stream, const AttentionDecode& args);
void attention_decode_webgpu(device::webgpu::WebGpuStream& stream, const AttentionDecode& args,
                             const device::KernelCost& cost);

/// From this many query rows on, the tiles of attention beat one pass over the cache for each row.
inline constexpr int64_t kDecodeTileRows = 8;

/// The call as tiles of attention. log_sum_exp may be empty on the CPU.
inline AttentionTiles decode_tiles(const AttentionDecode& args, const Buffer& log_sum_exp) {
  return {args.q,        args.k_cache,  args.v_cache, args.out,      log_sum_exp,   1,         args.rows,
          args.capacity, args.position, args.heads,   args.kv_heads, args.head_dim, args.scale};
}

}  // namespace athanor::kernels
