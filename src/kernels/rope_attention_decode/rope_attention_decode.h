// A token's way from its projections to its mixed values, over a key/value cache: rope_to_cache and attention_decode of one row.
#pragma once

#include "device/device.h"

namespace athanor::kernels {

struct RopeAttentionDecode {
  device::Buffer q;        // (H*D) f32
  device::Buffer k;        // (Hkv*D)
  device::Buffer v;        // (Hkv*D)
  device::Buffer table;    // (positions, D) f32: see rope_table
  device::Buffer k_cache;  // (capacity, Hkv*D): row `position` is written with k, rotated
  device::Buffer v_cache;  // (capacity, Hkv*D): row `position` is written with v
  device::Buffer out;      // (H*D), written
  int64_t position = 0;    // of the token; the rows before it are in the caches
  int64_t capacity = 0;    // position + 1 at least
  int64_t heads = 0;       // H, a multiple of Hkv
  int64_t kv_heads = 0;    // Hkv
  int64_t head_dim = 0;    // D: even, 2 to 256
  float scale = 1;         // usually 1 / sqrt(D)
};

/// What rope_to_cache and then attention_decode do for one row: in one launch on WebGPU while the cache is short, else in theirs.
/// Throws Error as they do.
void rope_attention_decode(device::Stream& stream, const RopeAttentionDecode& args);

}  // namespace athanor::kernels
