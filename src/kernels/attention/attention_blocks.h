// What the CPU's forward and backward share: how rows are cut into blocks, which keys they see, and key or value blocks laid out
// transposed so that every product of a block is a plain row-major one (BLAS does those at 100 GFLOP/s a core, q k^T at 70;
// 2026-11-29, AVX-512).
#pragma once

#include "device/cpu/cpu_stream.h"
#include "kernels/attention/attention_internal.h"
#include "kernels/launch.h"

#include <vector>

namespace athanor::kernels {

/// Rows of a block. 64 keep BLAS at its best speed; below 192 rows, 32 waste less above the diagonal.
inline int64_t attention_block(int64_t key_rows) { return key_rows < 192 ? 32 : 64; }

/// Which keys the query rows see.
struct VisibleKeys {
  std::vector<int32_t> lowest;  // (B*T): first key that a row sees; behind the row's own position when it sees none
  std::vector<int32_t>
      first_block;  // (B * blocks of queries): first block of keys that one of their rows sees, its own at the latest
};

VisibleKeys visible_keys(const AttentionTiles& args, int64_t block);

/// Blocks of x^T for x (batch * key_rows, heads*D): block n of (b, head) holds D rows of `block` columns, column j being row
/// n * block + j of x; columns from used_rows on are not written.
struct TransposedBlocks {
  Buffer storage;
  const float* values = nullptr;
  int64_t block = 0;
  int64_t blocks = 0;  // of one batch and head
  int64_t heads = 0;
  int64_t head_dim = 0;
  const float* at(int64_t b, int64_t head, int64_t n) const {
    return values + ((b * heads + head) * blocks + n) * head_dim * block;
  }
};

struct KeyRows {
  const float* values = nullptr;
  int64_t batch = 0;
  int64_t key_rows = 0;   // rows of a batch in memory
  int64_t used_rows = 0;  // rows that hold values
  int64_t heads = 0;
  int64_t head_dim = 0;
};

TransposedBlocks transpose_blocks(device::cpu::CpuStream& stream, const KeyRows& rows, int64_t block);

}  // namespace athanor::kernels
