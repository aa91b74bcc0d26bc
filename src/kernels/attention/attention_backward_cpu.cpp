// The gradient of attention for the CPU device. With enough key/value heads a task has a whole one and computes the weights of a
// block once for d_q, d_k and d_v; with few, d_q goes by query blocks and d_k, d_v by key blocks, and the weights are computed
// twice. Both ways make the same products in the same order for each value, so the bits do not depend on the choice.
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

ATHANOR_SIMD_CLONES
void row_dots(const float* __restrict a, const float* __restrict b, int64_t rows, int64_t columns,
              float* __restrict dots) {
  for (int64_t r = 0; r < rows; ++r) dots[r] = row_dot(a + r * columns, b + r * columns, columns);
}

// What a block of recomputed scores needs: columns are keys from `key` on, row r stands at `query + r` and sees keys from lowest[r] on;
// its statistics lie at r * stat_stride.
struct RecomputedBlock {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t stride = 0;
  int64_t key = 0;
  int64_t query = 0;
  const int32_t* lowest = nullptr;
  const float* log_sum_exp = nullptr;
  const float* delta = nullptr;
  int64_t stat_stride = 0;
};

// scores become weights p = exp(score - log_sum_exp), d_weights become scale * p * (d_weight - delta) times the slope of the soft cap;
// zero where a row does not see the key.
ATHANOR_SIMD_CLONES
void weights_and_gradients(float* __restrict scores, float* __restrict d_weights, const RecomputedBlock& view,
                           float scale, float soft_cap) {
  const int32_t count = static_cast<int32_t>(view.columns);
  const float factor = soft_cap > 0 ? 1.0F : scale;
  const float inverse = inverse_cap(soft_cap);
  for (int64_t r = 0; r < view.rows; ++r) {
    float* score_row = scores + r * view.stride;
    float* d_row = d_weights + r * view.stride;
    const int32_t end = static_cast<int32_t>(std::min(view.columns, view.query + r + 1 - view.key));
    const int32_t begin = static_cast<int32_t>(view.lowest[r] - view.key);
    const float row_log_sum_exp = view.log_sum_exp[r * view.stat_stride];
    const float row_delta = view.delta[r * view.stat_stride];
    if (soft_cap > 0) soft_cap_row(score_row, score_row, count, scale, soft_cap);
#pragma omp simd
    for (int32_t c = 0; c < count; ++c) {
      const float score = score_row[c] * factor;
      const float ratio = score * inverse;
      const float weight = device::cpu::exp_fast(score - row_log_sum_exp);
      const float gradient = scale * weight * (d_row[c] - row_delta) * (1.0F - ratio * ratio);
      score_row[c] = c >= begin && c < end ? weight : 0.0F;
      d_row[c] = c >= begin && c < end ? gradient : 0.0F;
    }
  }
}

class Backward {
 public:
  Backward(device::cpu::CpuStream& stream, const AttentionBackward& args)
      : stream_(stream),
        args_(args),
        block_(attention_block(args.length)),
        blocks_(ceil_div(args.length, block_)),
        group_(args.heads / args.kv_heads),
        q_stride_(args.heads * args.head_dim),
        kv_stride_(args.kv_heads * args.head_dim),
        visible_(visible_keys(tiles_of(args), block_)) {
    keys_ = transpose(args.k);
    values_ = transpose(args.v);
    const int64_t rows = args.batch * args.length * args.heads;
    delta_ = stream.device().allocate(rows * 4, "attention_backward delta");
    stream.threads().parallel_for(rows, 256, [&](int64_t begin, int64_t end, int) {
      const int64_t offset = begin * args.head_dim;
      row_dots(data<float>(args.d_out) + offset, data<float>(args.out) + offset, end - begin, args.head_dim,
               data<float>(delta_) + begin);
    });
  }

  void run() {
    device::cpu::ThreadPool& threads = stream_.threads();
    const int64_t kv_tasks = args_.batch * args_.kv_heads;
    const bool whole_heads = threads.size() == 1 || kv_tasks >= 3 * threads.size();
    if (whole_heads) {
      threads.parallel_for(kv_tasks, 1, [&](int64_t task, int64_t, int worker) {
        float* scratch = threads.scratch(worker, 2 * block_ * block_);
        for (int64_t key = 0; key < blocks_; ++key) key_block(task, key, true, scratch);
      });
      return;
    }
    threads.parallel_for(kv_tasks * blocks_, 1, [&](int64_t task, int64_t, int worker) {
      key_block(task % kv_tasks, task / kv_tasks, false, threads.scratch(worker, 2 * block_ * block_));
    });
    const int64_t heads = args_.batch * args_.heads;
    threads.parallel_for(heads * blocks_, 1, [&](int64_t task, int64_t, int worker) {
      float* scratch = threads.scratch(worker, 2 * block_ * block_);
      const int64_t query = blocks_ - 1 - task / heads;
      const int64_t head = task % heads;
      const int64_t b = head / args_.heads;
      for (int64_t key = first_block(b, query); key <= query; ++key) {
        recompute(b, head % args_.heads, query, key, scratch);
        add_d_q(b, head % args_.heads, query, key, scratch);
      }
    });
  }

 private:
  TransposedBlocks transpose(const Buffer& rows) {
    return transpose_blocks(
        stream_, {data<float>(rows), args_.batch, args_.length, args_.length, args_.kv_heads, args_.head_dim}, block_);
  }
  // The first block of keys that a block of queries sees; its own is always taken, so that every block of the results is written.
  int64_t first_block(int64_t b, int64_t query) const { return visible_.first_block[b * blocks_ + query]; }
  int64_t rows_of(int64_t block) const { return std::min(block_, args_.length - block * block_); }
  int64_t query_offset(int64_t b, int64_t h, int64_t block) const {
    return (b * args_.length + block * block_) * q_stride_ + h * args_.head_dim;
  }
  int64_t key_offset(int64_t b, int64_t h, int64_t block) const {
    return (b * args_.length + block * block_) * kv_stride_ + h / group_ * args_.head_dim;
  }

  // d_k and d_v of one block of keys of one key/value head, over the group's heads and all query blocks that see it.
  void key_block(int64_t kv_task, int64_t key, bool with_d_q, float* scratch) {
    const int64_t b = kv_task / args_.kv_heads;
    const int64_t first_head = kv_task % args_.kv_heads * group_;
    for (int64_t h = first_head; h < first_head + group_; ++h) {
      for (int64_t query = key; query < blocks_; ++query) {
        if (first_block(b, query) > key) continue;
        recompute(b, h, query, key, scratch);
        add_d_k_d_v(b, h, query, key, scratch, h == first_head && query == key);
        if (with_d_q) add_d_q(b, h, query, key, scratch);
      }
    }
  }

  // scratch: weights (rows x columns), then gradients of the scores.
  void recompute(int64_t b, int64_t h, int64_t query, int64_t key, float* scratch) {
    const int64_t rows = rows_of(query);
    const int64_t columns = rows_of(key);
    const int64_t offset = query_offset(b, h, query);
    float* weights = scratch;
    float* d_scores = scratch + block_ * block_;
    sgemm(Transpose::No, Transpose::No, rows, columns, args_.head_dim, data<float>(args_.q) + offset, q_stride_,
          keys_.at(b, h / group_, key), block_, 0, weights, block_);
    sgemm(Transpose::No, Transpose::No, rows, columns, args_.head_dim, data<float>(args_.d_out) + offset, q_stride_,
          values_.at(b, h / group_, key), block_, 0, d_scores, block_);
    const int64_t stat = (b * args_.length + query * block_) * args_.heads + h;
    const RecomputedBlock view{rows,
                               columns,
                               block_,
                               key * block_,
                               query * block_,
                               &visible_.lowest[b * args_.length + query * block_],
                               data<float>(args_.log_sum_exp) + stat,
                               data<float>(delta_) + stat,
                               args_.heads};
    weights_and_gradients(weights, d_scores, view, args_.scale, args_.soft_cap);
  }

  void add_d_q(int64_t b, int64_t h, int64_t query, int64_t key, const float* scratch) {
    sgemm(Transpose::No, Transpose::No, rows_of(query), args_.head_dim, rows_of(key), scratch + block_ * block_, block_,
          data<float>(args_.k) + key_offset(b, h, key), kv_stride_, key == first_block(b, query) ? 0.0F : 1.0F,
          data<float>(args_.d_q) + query_offset(b, h, query), q_stride_);
  }

  void add_d_k_d_v(int64_t b, int64_t h, int64_t query, int64_t key, const float* scratch, bool first) {
    const int64_t from = query_offset(b, h, query);
    const int64_t to = key_offset(b, h, key);
    const float beta = first ? 0.0F : 1.0F;
    sgemm(Transpose::Yes, Transpose::No, rows_of(key), args_.head_dim, rows_of(query), scratch, block_,
          data<float>(args_.d_out) + from, q_stride_, beta, data<float>(args_.d_v) + to, kv_stride_);
    sgemm(Transpose::Yes, Transpose::No, rows_of(key), args_.head_dim, rows_of(query), scratch + block_ * block_,
          block_, data<float>(args_.q) + from, q_stride_, beta, data<float>(args_.d_k) + to, kv_stride_);
  }

  device::cpu::CpuStream& stream_;
  const AttentionBackward& args_;
  int64_t block_;
  int64_t blocks_;
  int64_t group_;
  int64_t q_stride_;
  int64_t kv_stride_;
  VisibleKeys visible_;
  TransposedBlocks keys_;
  TransposedBlocks values_;
  Buffer delta_;  // (B*T, H): d_out . out of each row
};

}  // namespace

void attention_backward_cpu(device::cpu::CpuStream& stream, const AttentionBackward& args) {
  Backward(stream, args).run();
}

}  // namespace athanor::kernels
