// How row_tree.wgsl shares rows among threads; for the launchers of the kernels that are joined with it.
#pragma once

#include "kernels/launch.h"
#include "kernels/wgsl/lanes_1.h"
#include "kernels/wgsl/lanes_4.h"
#include "kernels/wgsl/row_tree.h"

#include <algorithm>
#include <bit>

namespace athanor::kernels {

inline constexpr int64_t kRowTreeThreads = 256;
inline constexpr int64_t kRowTreeKeep = 4;  // Values a thread holds in registers

/// Rows of `length` Values, each shared by `row_threads` threads, `rows_per_group` of them side by side in a workgroup.
struct RowShare {
  bool is_wide = false;  // a Value is vec4<f32>
  int64_t length = 0;
  int64_t row_threads = 0;
  int64_t rows_per_group = 0;

  const char* variant() const { return is_wide ? "portable" : "scalar"; }
  const device::webgpu::ShaderSource* lanes() const { return is_wide ? &lanes_4_wgsl : &lanes_1_wgsl; }
};

/// The fewest threads, a power of two, that keep a row of `length` Values in registers, as far as a workgroup has them; at least 8, which
/// read 128 bytes in one go as vec4.
inline int64_t row_threads_of(int64_t length) {
  const auto wanted = static_cast<uint64_t>(ceil_div(length, kRowTreeKeep));
  return std::clamp<int64_t>(static_cast<int64_t>(std::bit_ceil(wanted)), 8, kRowTreeThreads);
}

inline RowShare share_rows(int64_t columns) {
  RowShare share;
  share.is_wide = columns % 4 == 0;
  share.length = share.is_wide ? columns / 4 : columns;
  share.row_threads = row_threads_of(share.length);
  share.rows_per_group = kRowTreeThreads / share.row_threads;
  return share;
}

}  // namespace athanor::kernels
