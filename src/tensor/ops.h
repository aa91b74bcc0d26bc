// One function an op: it checks shapes, launches the kernel, and records the gradient when the context has a tape.
// Leading extents of x are rows: (B, T, C) and (B*T, C) are the same to every op here.
#pragma once

#include "kernels/cross_entropy/cross_entropy.h"
#include "tensor/tape.h"
#include "tensor/tensor.h"

#include <cstdint>
#include <span>

namespace athanor::tensor {

/// x @ w. x: (..., K) f32, w: (K, N). Gives (..., N).
Tensor matmul(const Context& context, const Tensor& x, const Tensor& w);

/// x @ w^T. x: (..., K), w: (N, K), as an embedding table used as head. Gives (..., N).
Tensor matmul_t(const Context& context, const Tensor& x, const Tensor& w);

/// (silu(gate) * up) @ w without storing the hidden matrix. gate, up: (..., F), w: (F, C). Gives (..., C).
/// Source: Shazeer 2020, arXiv:2002.05202.
Tensor swiglu_matmul(const Context& context, const Tensor& gate, const Tensor& up, const Tensor& w);

/// a + b of one shape.
Tensor add(const Context& context, const Tensor& a, const Tensor& b);

/// Root-mean-square norm of rows: x * weight / sqrt(mean(x^2) + eps). x: (..., C), weight: (C).
Tensor rms_norm(const Context& context, const Tensor& x, const Tensor& weight, float eps);

/// Rotary position embedding of every head. x: (B*T, heads * D), row r at position first_position + r % length; table: (positions, D)
/// from kernels::rope_table. Source: Su et al. 2021, arXiv:2104.09864.
Tensor rope(const Context& context, const Tensor& x, const Tensor& table, int64_t heads, int64_t length,
            int64_t first_position);

struct AttentionShape {
  int64_t batch = 0;
  int64_t length = 0;    // T
  int64_t heads = 0;     // H
  int64_t kv_heads = 0;  // Hkv divides H
};

/// Causal softmax(q k^T / sqrt(D)) v with grouped queries. q: (B*T, H*D), k and v: (B*T, Hkv*D). Gives (B*T, H*D).
/// Source: Dao 2023, arXiv:2307.08691; Ainslie et al. 2023, arXiv:2305.13245.
Tensor attention(const Context& context, const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionShape& shape);

/// Token ids on the device, with the order that the deterministic gradient needs.
struct TokenIds {
  Tensor ids;    // (rows) u32
  Tensor order;  // from kernels::embedding_order; empty when no gradient is wanted
};
/// Throws Error for an id that is not below the vocabulary.
TokenIds upload_token_ids(const Context& context, std::span<const uint32_t> ids, int64_t vocabulary);

/// Rows of the table. table: (V, C). Gives (rows, C).
Tensor embedding(const Context& context, const Tensor& table, const TokenIds& ids);

/// The head and its loss, taken in chunks of rows so that never all logits exist. x: (rows, C), head: (V, C), targets: (rows) with
/// kernels::kIgnoreTarget where a row does not count. loss_sum: one f32 on the device to which the sum of the rows' losses in nats is
/// added. With a tape, gradients for x and head are made at once, times `scale` (1 / number of targets of the step).
/// terms: label smoothing, z-loss and soft cap, in loss and gradient alike.
void cross_entropy_head(const Context& context, const Tensor& x, const Tensor& head, std::span<const int32_t> targets,
                        float scale, const Buffer& loss_sum, const kernels::CrossEntropyTerms& terms = {});

}  // namespace athanor::tensor
