// attention for the CPU device: blocks of queries shared among the workers, products by BLAS, an online softmax between them.
#include "device/cpu/blas.h"
#include "device/cpu/simd.h"
#include "kernels/attention/attention_blocks.h"
#include "kernels/attention/attention_internal.h"
#include "kernels/attention/attention_lanes.h"

namespace athanor::kernels {

using device::cpu::data;
using device::cpu::sgemm;
using device::cpu::Transpose;

namespace {

constexpr float kMasked = -3e38F;

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

// Turns a block of raw scores into weights relative to each row's running maximum. Row r sees the first `visible + r` columns.
// maxima and sums are updated; corrections[r] is the factor for what was summed before.
ATHANOR_SIMD_CLONES
void online_softmax(float* __restrict scores, int64_t stride, int64_t rows, int64_t columns, int64_t visible,
                    float scale, float* __restrict maxima, float* __restrict sums, float* __restrict corrections) {
  for (int64_t r = 0; r < rows; ++r) {
    float* row = scores + r * stride;
    const int32_t seen = static_cast<int32_t>(std::min(columns, visible + r));
    const int32_t count = static_cast<int32_t>(columns);
#pragma omp simd
    for (int32_t c = 0; c < count; ++c) row[c] = c < seen ? row[c] * scale : kMasked;
    const float largest = row_max(row, columns, maxima[r]);
#pragma omp simd
    for (int32_t c = 0; c < count; ++c) row[c] = device::cpu::exp_fast(row[c] - largest);
    const float correction = device::cpu::exp_fast(maxima[r] - largest);
    corrections[r] = correction;
    sums[r] = sums[r] * correction + row_sum(row, columns);
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
    const int64_t seen_rows = args.first_position + first + rows;  // keys the last row sees
    for (int64_t key = 0; key < seen_rows; key += block) {
      const int64_t columns = std::min(block, seen_rows - key);
      sgemm(Transpose::No, Transpose::No, rows, columns, args.head_dim, q, q_stride, keys.at(b, kv_head, key / block),
            block, 0, scores, block);
      online_softmax(scores, block, rows, columns, args.first_position + first - key + 1, args.scale, maxima, sums,
                     factors);
      if (key > 0) scale_rows(out, q_stride, rows, args.head_dim, factors);
      sgemm(Transpose::No, Transpose::No, rows, args.head_dim, columns, scores, block, v + key * kv_stride, kv_stride,
            key == 0 ? 0.0F : 1.0F, out, q_stride);
    }
    for (int64_t r = 0; r < rows; ++r) factors[r] = 1.0F / sums[r];
    scale_rows(out, q_stride, rows, args.head_dim, factors);
    if (!args.log_sum_exp) return;
    float* log_sum_exp = data<float>(args.log_sum_exp) + (b * args.length + first) * args.heads + h;
    for (int64_t r = 0; r < rows; ++r) log_sum_exp[r * args.heads] = maxima[r] + std::log(sums[r]);
  }
};

}  // namespace

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
  const int64_t query_blocks = ceil_div(args.length, block);
  const int64_t heads = args.batch * args.heads;
  device::cpu::ThreadPool& threads = stream.threads();
  // The last blocks see the most keys: they go first, so that no worker is left with a long one at the end.
  threads.parallel_for(heads * query_blocks, 1, [&](int64_t task, int64_t, int worker) {
    const int64_t query_block = query_blocks - 1 - task / heads;
    const int64_t head = task % heads;
    const ForwardTile tile{args, keys, threads.scratch(worker, block * (block + 3))};
    tile.run(head / args.heads, head % args.heads, query_block);
  });
}

}  // namespace athanor::kernels
