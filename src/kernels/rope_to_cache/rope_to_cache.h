// What stands between the projections of new tokens and their attention over a key/value cache, in one launch.
#pragma once

#include "device/device.h"

namespace athanor::kernels {

/// Row r stands at position + r, in the table and in the caches.
struct RopeToCache {
  device::Buffer q;        // (rows, H*D) f32
  device::Buffer k;        // (rows, Hkv*D)
  device::Buffer v;        // (rows, Hkv*D)
  device::Buffer table;    // (positions, D) f32: D/2 cosines, then D/2 sines; see rope_table
  device::Buffer rotated;  // (rows, H*D), written: q, rotated
  device::Buffer k_cache;  // (capacity, Hkv*D): rows position .. position + rows - 1 are written with k, rotated
  device::Buffer v_cache;  // (capacity, Hkv*D): the same rows are written with v
  int64_t rows = 0;
  int64_t heads = 0;     // H
  int64_t kv_heads = 0;  // Hkv
  int64_t head_dim = 0;  // D, even
  int64_t position = 0;
  int64_t capacity = 0;  // position + rows at least
};

/// rope of q and of k, k and v straight to their places behind what the caches hold; other rows of the caches are not touched.
/// Throws Error if a buffer's size is not as in RopeToCache, D is odd, the rows do not fit the caches or a position is not in the table.
void rope_to_cache(device::Stream& stream, const RopeToCache& args);

}  // namespace athanor::kernels
