// attention_decode for the CPU device: a pass over pieces of the cache for each key/value head, all query heads of its group at once,
// so that each key and value is read from memory once. Chunks of a prompt take the tiles of attention.
#include "device/cpu/simd.h"
#include "kernels/attention/attention_lanes.h"
#include "kernels/attention/soft_cap.h"
#include "kernels/attention_decode/attention_decode_internal.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

// Cache rows of a task: enough work to be worth a thread, and a fixed order of sums.
constexpr int64_t kPieceRows = 256;

// scores[g * count + j] = scale * q[g].k[j] for a group of heads that lie side by side.
ATHANOR_SIMD_CLONES
void score_rows(const float* __restrict q, int64_t group, const float* __restrict k, int64_t stride, int64_t count,
                int64_t head_dim, float scale, float* __restrict scores) {
  for (int64_t j = 0; j < count; ++j) {
    const float* key = k + j * stride;
    for (int64_t g = 0; g < group; ++g) {
      scores[g * count + j] = scale * row_dot(q + g * head_dim, key, head_dim);
    }
  }
}

// Scores of a head, under the soft cap if there is one, become weights relative to their maximum; gives maximum and sum.
ATHANOR_SIMD_CLONES
void exponentials(float* __restrict scores, int64_t count, float soft_cap, float* __restrict maximum_and_sum) {
  if (soft_cap > 0) soft_cap_row(scores, scores, count, 1.0F, soft_cap);
  const float largest = row_max(scores, count, scores[0]);
#pragma omp simd
  for (int64_t j = 0; j < count; ++j) scores[j] = device::cpu::exp_fast(scores[j] - largest);
  maximum_and_sum[0] = largest;
  maximum_and_sum[1] = row_sum(scores, count);
}

// out[g] += weights[g] times the rows of v; out rows lie out_stride apart.
ATHANOR_SIMD_CLONES
void add_value_rows(const float* __restrict weights, int64_t group, const float* __restrict v, int64_t stride,
                    int64_t count, int64_t head_dim, float* __restrict out, int64_t out_stride) {
  for (int64_t j = 0; j < count; ++j) {
    const float* value = v + j * stride;
    for (int64_t g = 0; g < group; ++g) {
      const float weight = weights[g * count + j];
      float* row = out + g * out_stride;
#pragma omp simd
      for (int64_t d = 0; d < head_dim; ++d) row[d] += weight * value[d];
    }
  }
}

ATHANOR_SIMD_CLONES
void add_scaled(const float* __restrict x, float factor, int64_t count, float* __restrict sum) {
#pragma omp simd
  for (int64_t d = 0; d < count; ++d) sum[d] += factor * x[d];
}

// Joins the pieces of one head: each is a sum of D values relative to its maximum, then maximum and sum of weights.
void join_pieces(const float* pieces, int64_t count, int64_t piece_stride, int64_t head_dim, float* out) {
  float largest = pieces[head_dim];
  for (int64_t p = 1; p < count; ++p) largest = std::max(largest, pieces[p * piece_stride + head_dim]);
  float total = 0;
  for (int64_t p = 0; p < count; ++p) {
    const float* piece = pieces + p * piece_stride;
    total += device::cpu::exp_fast(piece[head_dim] - largest) * piece[head_dim + 1];
  }
  std::fill_n(out, head_dim, 0.0F);
  for (int64_t p = 0; p < count; ++p) {
    const float* piece = pieces + p * piece_stride;
    add_scaled(piece, device::cpu::exp_fast(piece[head_dim] - largest) / total, head_dim, out);
  }
}

int64_t pieces_of(const AttentionDecode& args, int64_t row) {
  return ceil_div(args.position + row + 1, kPieceRows) - first_cache_row(args, row) / kPieceRows;
}

void decode_row(device::cpu::CpuStream& stream, const AttentionDecode& args, int64_t row, float* partial) {
  const int64_t pieces = pieces_of(args, row);
  const int64_t head_dim = args.head_dim;
  const int64_t group = args.heads / args.kv_heads;
  const int64_t stride = args.kv_heads * head_dim;
  const int64_t piece_values = head_dim + 2;
  const int64_t seen = args.position + row + 1;
  const int64_t lowest = first_cache_row(args, row);
  const float* q = data<float>(args.q) + row * args.heads * head_dim;
  const float* k = data<float>(args.k_cache);
  const float* v = data<float>(args.v_cache);
  device::cpu::ThreadPool& threads = stream.threads();
  // partial: (pieces, H, D + 2)
  threads.parallel_for(pieces * args.kv_heads, 1, [&](int64_t task, int64_t, int worker) {
    const int64_t kv_head = task % args.kv_heads;
    const int64_t piece = task / args.kv_heads;
    const int64_t begin = (lowest / kPieceRows + piece) * kPieceRows;  // pieces are cut by position alone
    const int64_t first = std::max(begin, lowest);
    const int64_t count = std::min(begin + kPieceRows, seen) - first;
    const int64_t offset = first * stride + kv_head * head_dim;
    float* scores = threads.scratch(worker, group * kPieceRows);
    float* out = partial + (piece * args.heads + kv_head * group) * piece_values;
    score_rows(q + kv_head * group * head_dim, group, k + offset, stride, count, head_dim, args.scale, scores);
    for (int64_t g = 0; g < group; ++g) {
      std::fill_n(out + g * piece_values, head_dim, 0.0F);
      exponentials(scores + g * count, count, args.soft_cap, out + g * piece_values + head_dim);
    }
    add_value_rows(scores, group, v + offset, stride, count, head_dim, out, piece_values);
  });
  float* out = data<float>(args.out) + row * args.heads * head_dim;
  for (int64_t h = 0; h < args.heads; ++h) {
    join_pieces(partial + h * piece_values, pieces, args.heads * piece_values, head_dim, out + h * head_dim);
  }
}

}  // namespace

void attention_decode_cpu(device::cpu::CpuStream& stream, const AttentionDecode& args) {
  if (args.rows >= kDecodeTileRows) {
    attention_tiles_cpu(stream, decode_tiles(args, {}));
    return;
  }
  int64_t most_pieces = 0;
  for (int64_t row = 0; row < args.rows; ++row) most_pieces = std::max(most_pieces, pieces_of(args, row));
  const Buffer partial =
      stream.device().allocate(most_pieces * args.heads * (args.head_dim + 2) * 4, "attention_decode pieces");
  for (int64_t row = 0; row < args.rows; ++row) decode_row(stream, args, row, data<float>(partial));
}

}  // namespace athanor::kernels
