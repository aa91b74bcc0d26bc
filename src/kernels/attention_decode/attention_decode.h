// Attention of a few new tokens of one sequence over its key/value cache: a chunk of a prompt, or one token at a time.
#pragma once

#include "device/device.h"

namespace athanor::kernels {

/// The new tokens' keys and values are in the cache already. Query row r stands at position + r and sees cache rows up to there, of them
/// the last `window`. Head h reads key/value head h / (H / Hkv).
struct AttentionDecode {
  device::Buffer q;        // (rows, H*D) f32
  device::Buffer k_cache;  // (capacity, Hkv*D)
  device::Buffer v_cache;  // (capacity, Hkv*D)
  device::Buffer out;      // (rows, H*D), written
  int64_t rows = 0;
  int64_t position = 0;
  int64_t capacity = 0;  // position + rows at least
  int64_t heads = 0;     // H, a multiple of Hkv
  int64_t kv_heads = 0;  // Hkv
  int64_t head_dim = 0;  // D: 1 to 256
  float scale = 1;       // usually 1 / sqrt(D)
  int64_t window = 0;    // cache rows position + r - window + 1 .. position + r are seen; 0: all up to there
  float soft_cap = 0;    // a score s becomes cap * tanh(s / cap); 0: none
};

/// out[r] = sum of softmax_u(s[r, u]) * v[u] over the cache rows u that r sees, for each head; s = scale * q[r].k[u] under the soft cap.
/// Throws Error if a buffer's size is not as in AttentionDecode, the rows do not fit the cache, H is not a multiple of Hkv, or D, window
/// or cap is out of range. Source of the split over long caches: Dao et al. 2023, "Flash-Decoding for long-context inference".
void attention_decode(device::Stream& stream, const AttentionDecode& args);

}  // namespace athanor::kernels
