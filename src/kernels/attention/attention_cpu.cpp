// attention for the CPU device: blocks of queries shared among the workers, products by BLAS, an online softmax between them.
#include "device/cpu/blas.h"
#include "device/cpu/simd.h"
#include "kernels/attention/attention_blocks.h"
#include "kernels/attention/attention_internal.h"
#include "kernels/attention/attention_lanes.h"
#include "kernels/attention/soft_cap.h"

namespace athanor::kernels {

using device::cpu::data;
using device::cpu::sgemm;
using device::cpu::Transpose;

namespace {

constexpr float kMasked = kNoKeysLogSumExp;

ATHANOR_SIMD_CLONES
void transpose_block(const float* __restrict x, int64_t stride, int64_t rows, int64_t columns, float* __restrict out,
                     int64_t out_stride) {
  // Sixteen rows at a time: a line of each stays in the cache while its columns are handed out.
  for (int64_t start = 0; start < rows; start += 16) {
    const int64_t count = std::min<int64_t>(16, rows - start);
    for (int64_t c = 0; c < columns; ++c) {
      for (int64_t r = 0; r < count; ++r) out[c * out_stride + start + r] = x[(start + r) * stride + c];
    }
  }
}

// A block of scores: columns are keys from `key` on, row r stands at `position + r` and sees keys from lowest[r] on.
struct ScoreBlock {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t stride = 0;
  int64_t key = 0;
  int64_t position = 0;
  const int32_t* lowest = nullptr;
};

// Turns a block of raw scores into weights relative to each row's running maximum. maxima and sums are updated; corrections[r] is the
// factor for what was summed before.
ATHANOR_SIMD_CLONES
void online_softmax(float* __restrict scores, const ScoreBlock& view, float scale, float soft_cap,
                    float* __restrict maxima, float* __restrict sums, float* __restrict corrections) {
  const int32_t count = static_cast<int32_t>(view.columns);
  for (int64_t r = 0; r < view.rows; ++r) {
    float* row = scores + r * view.stride;
    const int32_t end = static_cast<int32_t>(std::min(view.columns, view.position + r + 1 - view.key));
    const int32_t begin = static_cast<int32_t>(view.lowest[r] - view.key);
    if (soft_cap > 0) soft_cap_row(row, row, count, scale, soft_cap);
    const float factor = soft_cap > 0 ? 1.0F : scale;
#pragma omp simd
    for (int32_t c = 0; c < count; ++c) row[c] = c >= begin && c < end ? row[c] * factor : kMasked;
    const float largest = row_max(row, count, maxima[r]);
    // A row that has seen no key yet has kMasked as its maximum: what is masked weighs nothing, not e^0.
#pragma omp simd
    for (int32_t c = 0; c < count; ++c) row[c] = row[c] > kMasked ? device::cpu::exp_fast(row[c] - largest) : 0.0F;
    const float correction = device::cpu::exp_fast(maxima[r] - largest);
    corrections[r] = correction;
    sums[r] = sums[r] * correction + row_sum(row, count);
    maxima[r] = largest;
  }
}

ATHANOR_SIMD_CLONES
void scale_rows(float* __restrict x, int64_t stride, int64_t rows, int64_t columns, const float* __restrict factors) {
  for (int64_t r = 0; r < rows; ++r) {
    if (factors[r] == 1.0F) continue;
    float* row = x + r * stride;
    const float factor = factors[r];
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) row[c] *= factor;
  }
}

// One block of queries of one head over all keys it sees.
struct ForwardTile {
  const AttentionTiles& args;
  const VisibleKeys& visible;
  const TransposedBlocks& keys;
  float* scratch;

  void run(int64_t b, int64_t h, int64_t query_block) const {
    const int64_t block = keys.block;
    const int64_t first = query_block * block;
    const int64_t rows = std::min(block, args.length - first);
    const int64_t q_stride = args.heads * args.head_dim;
    const int64_t kv_stride = args.kv_heads * args.head_dim;
    const int64_t kv_head = h / (args.heads / args.kv_heads);
    const int64_t query_offset = (b * args.length + first) * q_stride + h * args.head_dim;
    const float* q = data<float>(args.q) + query_offset;
    float* out = data<float>(args.out) + query_offset;
    const float* v = data<float>(args.v) + b * args.key_rows * kv_stride + kv_head * args.head_dim;

    float* maxima = scratch;
    float* sums = maxima + block;
    float* factors = sums + block;
    float* scores = factors + block;
    std::fill_n(maxima, block, kMasked);
    std::fill_n(sums, block, 0.0F);
    const int64_t position = args.first_position + first;
    const int64_t begin = visible.first_block[b * ceil_div(args.length, block) + query_block] * block;
    for (int64_t key = begin; key < position + rows; key += block) {
      const int64_t columns = std::min(block, position + rows - key);
      sgemm(Transpose::No, Transpose::No, rows, columns, args.head_dim, q, q_stride, keys.at(b, kv_head, key / block),
            block, 0, scores, block);
      online_softmax(scores, {rows, columns, block, key, position, &visible.lowest[b * args.length + first]},
                     args.scale, args.soft_cap, maxima, sums, factors);
      if (key > begin) scale_rows(out, q_stride, rows, args.head_dim, factors);
      sgemm(Transpose::No, Transpose::No, rows, args.head_dim, columns, scores, block, v + key * kv_stride, kv_stride,
            key == begin ? 0.0F : 1.0F, out, q_stride);
    }
    for (int64_t r = 0; r < rows; ++r) factors[r] = sums[r] > 0 ? 1.0F / sums[r] : 0.0F;
    scale_rows(out, q_stride, rows, args.head_dim, factors);
    if (!args.log_sum_exp) return;
    float* log_sum_exp = data<float>(args.log_sum_exp) + (b * args.length + first) * args.heads + h;
    for (int64_t r = 0; r < rows; ++r) {
      log_sum_exp[r * args.heads] = sums[r] > 0 ? maxima[r] + std::log(sums[r]) : kNoKeysLogSumExp;
    }
  }
};

}  // namespace

VisibleKeys visible_keys(const AttentionTiles& args, int64_t block) {
  const int64_t blocks = ceil_div(args.length, block);
  const uint32_t* first_key = args.first_key ? data<uint32_t>(args.first_key) : nullptr;
  VisibleKeys visible;
  visible.lowest.resize(static_cast<size_t>(args.batch * args.length));
  visible.first_block.resize(static_cast<size_t>(args.batch * blocks));
  for (int64_t b = 0; b < args.batch; ++b) {
    for (int64_t n = 0; n < blocks; ++n) {
      int64_t first_block = (args.first_position + n * block) / block;
      for (int64_t t = n * block; t < std::min(args.length, (n + 1) * block); ++t) {
        const int64_t position = args.first_position + t;
        int64_t lowest = args.window == 0 ? 0 : std::max<int64_t>(0, position + 1 - args.window);
        if (first_key != nullptr) lowest = std::max<int64_t>(lowest, first_key[b * args.length + t]);
        lowest = std::min(lowest, position + 1);
        visible.lowest[b * args.length + t] = static_cast<int32_t>(lowest);
        if (lowest <= position) first_block = std::min(first_block, lowest / block);
      }
      visible.first_block[b * blocks + n] = static_cast<int32_t>(first_block);
    }
  }
  return visible;
}

TransposedBlocks transpose_blocks(device::cpu::CpuStream& stream, const KeyRows& rows, int64_t block) {
  TransposedBlocks out;
  out.block = block;
  out.blocks = ceil_div(rows.used_rows, block);
  out.heads = rows.heads;
  out.head_dim = rows.head_dim;
  const int64_t tasks = rows.batch * rows.heads * out.blocks;
  const int64_t block_values = rows.head_dim * block;
  out.storage = stream.device().allocate(tasks * block_values * 4, "attention transposed blocks");
  float* values = data<float>(out.storage);
  out.values = values;
  const int64_t stride = rows.heads * rows.head_dim;
  stream.threads().parallel_for(tasks, 4, [&](int64_t begin, int64_t end, int) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t first = task % out.blocks * block;
      const int64_t head = task / out.blocks % rows.heads;
      const int64_t b = task / out.blocks / rows.heads;
      const float* from = rows.values + (b * rows.key_rows + first) * stride + head * rows.head_dim;
      transpose_block(from, stride, std::min(block, rows.used_rows - first), rows.head_dim,
                      values + task * block_values, block);
    }
  });
  return out;
}

void attention_tiles_cpu(device::cpu::CpuStream& stream, const AttentionTiles& args) {
  const int64_t seen_rows = args.first_position + args.length;
  const int64_t block = attention_block(seen_rows);
  const TransposedBlocks keys = transpose_blocks(
      stream, {data<float>(args.k), args.batch, args.key_rows, seen_rows, args.kv_heads, args.head_dim}, block);
  const VisibleKeys visible = visible_keys(args, block);
  const int64_t query_blocks = ceil_div(args.length, block);
  const int64_t heads = args.batch * args.heads;
  device::cpu::ThreadPool& threads = stream.threads();
  // The last blocks see the most keys: they go first, so that no worker is left with a long one at the end.
  threads.parallel_for(heads * query_blocks, 1, [&](int64_t task, int64_t, int worker) {
    const int64_t query_block = query_blocks - 1 - task / heads;
    const int64_t head = task % heads;
    const ForwardTile tile{args, visible, keys, threads.scratch(worker, block * (block + 3))};
    tile.run(head / args.heads, head % args.heads, query_block);
  });
}

}  // namespace athanor::kernels
