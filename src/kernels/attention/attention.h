// Causal attention of whole sequences with grouped queries, and its gradient. No T x T matrix is kept: the forward runs an
// online softmax, the backward computes the weights again from each row's log-sum-exp.
#pragma once

#include "device/device.h"
#include "kernels/matmul/matmul_precision.h"

namespace athanor::kernels {

/// Where a caller keeps the scales of operands (max_magnitude) for the calls that read them again; nullptr: measured anew.
struct AttentionScales {
  device::Buffer* q = nullptr;
  device::Buffer* k = nullptr;
  device::Buffer* v = nullptr;
  device::Buffer* d_out = nullptr;  // of the backward
};

/// Rows are tokens as the projections give them, batch entry b's position t in row b * T + t; heads lie side by side in a row, so
/// nothing is transposed. Head h reads key/value head h / (H / Hkv).
///
/// Position t sees the keys up to itself: of them the last `window` ones, and of packed documents only those of its own: first_key is the
/// position within its batch entry where the row's document starts. Tiles that no row of theirs sees are skipped, so sorted documents cost
/// what they cost alone. A row whose first_key is behind itself (padding) sees no key: its output and its gradients are zero.
struct Attention {
  device::Buffer q;    // (B*T, H*D) f32
  device::Buffer k;    // (B*T, Hkv*D)
  device::Buffer v;    // (B*T, Hkv*D)
  device::Buffer out;  // (B*T, H*D), written
  device::Buffer
      log_sum_exp;  // (B*T, H), written: max + log(sum exp(s - max)) of each row's scores; kNoKeysLogSumExp without keys
  int64_t batch = 0;           // B
  int64_t length = 0;          // T
  int64_t heads = 0;           // H, a multiple of Hkv
  int64_t kv_heads = 0;        // Hkv
  int64_t head_dim = 0;        // D: 1 to kMaxHeadDim
  float scale = 1;             // usually 1 / sqrt(D)
  int64_t window = 0;          // position t sees keys t - window + 1 .. t; 0: all up to t
  float soft_cap = 0;          // a score s becomes cap * tanh(s / cap); 0: none
  device::Buffer first_key{};  // (B*T) u32, or empty: one document a batch entry
  /// Medium: factors and weights may be rounded to f16, which the matrix units take where the adapter has them, D is at most 64 and there
  /// is no soft cap. All else is f32.
  MatMulPrecision precision = MatMulPrecision::Highest;
  AttentionScales kept = {};
};

/// out[t] = sum of softmax_u(s[t, u]) * v[u] over the keys u that t sees, for each batch entry and head; s = scale * q[t].k[u] under the
/// soft cap. Throws Error if a buffer's size is not as in Attention, H is not a multiple of Hkv, or D, window or cap is out of range.
/// Sources: Milakov and Gimelshein 2018, arXiv:1805.02867; Dao 2023, arXiv:2307.08691; Ainslie et al. 2023, arXiv:2305.13245; window:
/// Beltagy et al. 2020, arXiv:2004.05150; soft cap: Gemma 2, arXiv:2408.00118.
void attention(device::Stream& stream, const Attention& args);

struct AttentionBackward {
  device::Buffer d_out;        // (B*T, H*D)
  device::Buffer q;            // (B*T, H*D)
  device::Buffer k;            // (B*T, Hkv*D)
  device::Buffer v;            // (B*T, Hkv*D)
  device::Buffer out;          // (B*T, H*D), of the forward
  device::Buffer log_sum_exp;  // (B*T, H), of the forward
  device::Buffer d_q;          // (B*T, H*D), written
  device::Buffer d_k;          // (B*T, Hkv*D), written
  device::Buffer d_v;          // (B*T, Hkv*D), written
  int64_t batch = 0;
  int64_t length = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  float scale = 1;
  int64_t window = 0;  // these three as in the forward
  float soft_cap = 0;
  device::Buffer first_key{};
  MatMulPrecision precision = MatMulPrecision::Highest;
  AttentionScales kept = {};
};

/// With p = exp(s - log_sum_exp), delta[t] = d_out[t].out[t] and ds = p * (d_out[t].v[u] - delta[t]) * (1 - (s / cap)^2):
/// d_v[u] = sum p * d_out[t], d_q[t] = scale * sum ds * k[u], d_k[u] = scale * sum ds * q[t]; d_k and d_v sum over the group's
/// heads. Fixed order of sums: a run repeats bit for bit. Throws Error as attention does.
void attention_backward(device::Stream& stream, const AttentionBackward& args);

inline constexpr int64_t kMaxHeadDim = 256;
inline constexpr float kNoKeysLogSumExp = -3e38F;  // of a row that sees no key

}  // namespace athanor::kernels
