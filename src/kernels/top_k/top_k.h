// The k largest values of each row, in order.
#pragma once

#include "device/device.h"

namespace athanor::kernels {

struct TopK {
  device::Buffer x;        // (rows, V) f32
  device::Buffer values;   // (rows, k) f32, written: the largest first
  device::Buffer indices;  // (rows, k) u32, written: where they stand in their row
  int64_t rows = 0;
  int64_t columns = 0;  // V, at most 2^22
  int64_t k = 0;        // 1 to V
};

/// The k largest values of each row and their indices, sorted: of equal values the one with the lower index comes first, and -0 equals 0.
/// Values are any but NaN; those that come back have the bits they had.
/// Throws Error if k is not between 1 and V, V is over 2^22, or a buffer's size is not as in TopK.
void top_k(device::Stream& stream, const TopK& args);

}  // namespace athanor::kernels
