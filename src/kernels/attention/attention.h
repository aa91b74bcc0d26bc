// Causal attention of whole sequences with grouped queries, and its gradient. No T x T matrix is kept: the forward runs an
// online softmax, the backward computes the weights again from each row's log-sum-exp.
#pragma once

#include "device/device.h"

namespace athanor::kernels {

/// Rows are tokens as the projections give them, batch b's position t in row b * T + t; heads lie side by side in a row, so
/// nothing is transposed. Head h reads key/value head h / (H / Hkv).
struct Attention {
  device::Buffer q;            // (B*T, H*D) f32
  device::Buffer k;            // (B*T, Hkv*D)
  device::Buffer v;            // (B*T, Hkv*D)
  device::Buffer out;          // (B*T, H*D), written
  device::Buffer log_sum_exp;  // (B*T, H), written: max + log(sum exp(s - max)) of each row's scaled scores
  int64_t batch = 0;           // B
  int64_t length = 0;          // T
  int64_t heads = 0;           // H, a multiple of Hkv
  int64_t kv_heads = 0;        // Hkv
  int64_t head_dim = 0;        // D: 1 to kMaxHeadDim
  float scale = 1;             // usually 1 / sqrt(D)
};

/// out[t] = sum over u <= t of softmax_u(scale * q[t].k[u]) * v[u] for each batch and head.
/// Throws Error if a buffer's size is not as in Attention, H is not a multiple of Hkv, or D is out of range.
/// Sources: Milakov and Gimelshein 2018, arXiv:1805.02867; Dao 2023, arXiv:2307.08691; Ainslie et al. 2023, arXiv:2305.13245.
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
};

/// With p = exp(scale * q.k - log_sum_exp), delta[t] = d_out[t].out[t] and ds = p * (d_out[t].v[u] - delta[t]):
/// d_v[u] = sum p * d_out[t], d_q[t] = scale * sum ds * k[u], d_k[u] = scale * sum ds * q[t]; d_k and d_v sum over the group's
/// heads. Fixed order of sums: a run repeats bit for bit. Throws Error as attention does.
void attention_backward(device::Stream& stream, const AttentionBackward& args);

inline constexpr int64_t kMaxHeadDim = 256;

}  // namespace athanor::kernels
