// The two devices' versions of attention_decode, behind its door.
#pragma once

#include "kernels/attention/attention_internal.h"
#include "kernels/attention_decode/attention_decode.h"
#include "kernels/launch.h"

#include <algorithm>

namespace athanor::kernels {

void attention_decode_cpu(device::cpu::CpuStream& stream, const AttentionDecode& args);
void attention_decode_webgpu(device::webgpu::WebGpuStream& stream, const AttentionDecode& args,
                             const device::KernelCost& cost);

/// From this many query rows on, the tiles of attention beat one pass over the cache for each row.
inline constexpr int64_t kDecodeTileRows = 8;

/// The call as tiles of attention. log_sum_exp may be empty on the CPU.
AttentionTiles decode_tiles(const AttentionDecode& args, const Buffer& log_sum_exp);

/// The first cache row that query row `row` sees.
inline int64_t first_cache_row(const AttentionDecode& args, int64_t row) {
  return args.window == 0 ? 0 : std::max<int64_t>(0, args.position + row + 1 - args.window);
}

device::KernelCost attention_decode_cost(const AttentionDecode& args);

}  // namespace athanor::kernels
