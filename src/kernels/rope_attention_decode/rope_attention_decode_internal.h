// rope_attention_decode in one launch, and as the kernels that it joins.
#pragma once

#include "kernels/launch.h"
#include "kernels/rope_attention_decode/rope_attention_decode.h"

namespace athanor::kernels {

/// One workgroup a head goes over so many rows of the cache; a longer one is better cut into pieces (attention_decode).
inline constexpr int64_t kMostRowsOfOneGroup = 1024;

/// Rows in reach of one workgroup, halves of a head in whole vec4.
inline bool fits_one_launch(const RopeAttentionDecode& args) {
  return args.position < kMostRowsOfOneGroup && args.head_dim % 8 == 0;
}

void rope_attention_decode_webgpu(device::webgpu::WebGpuStream& stream, const RopeAttentionDecode& args,
                                  const device::KernelCost& cost);

}  // namespace athanor::kernels
