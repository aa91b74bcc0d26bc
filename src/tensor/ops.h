// One function an op: it checks shapes, launches the kernel, and records the gradient when the context has a tape.
// Leading extents of x are rows: (B, T, C) and (B*T, C) are the same to every op here.
#pragma once

#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/dropout/dropout.h"
#include "kernels/gelu/gelu.h"
#include "tensor/tape.h"
#include "tensor/tensor.h"

#include <cstdint>
#include <span>

namespace athanor::tensor {

using kernels::CrossEntropyTerms;
using kernels::DropoutKey;
using kernels::GeluForm;

/// x @ w. x: (..., K) f32, w: (K, N). Gives (..., N).
Tensor matmul(const Context& context, const Tensor& x, const Tensor& w);

/// x @ w^T. x: (..., K), w: (N, K), as an embedding table used as head. Gives (..., N).
Tensor matmul_t(const Context& context, const Tensor& x, const Tensor& w);

/// (silu(gate) * up) @ w without storing the hidden matrix. gate, up: (..., F), w: (F, C). Gives (..., C).
/// Source: Shazeer 2020, arXiv:2002.05202.
Tensor swiglu_matmul(const Context& context, const Tensor& gate, const Tensor& up, const Tensor& w);

/// a + b. b has a's shape, or is a vector (C) that is added to each row of a (..., C).
Tensor add(const Context& context, const Tensor& a, const Tensor& b);

/// a - b; shapes as in add.
Tensor sub(const Context& context, const Tensor& a, const Tensor& b);

/// a * b, value by value; shapes as in add.
Tensor mul(const Context& context, const Tensor& a, const Tensor& b);

/// max(x, 0). Source: Nair and Hinton 2010.
Tensor relu(const Context& context, const Tensor& x);

/// x * sigmoid(x). Source: Elfwing, Uchibe and Doya 2017, arXiv:1702.03118.
Tensor silu(const Context& context, const Tensor& x);

/// x times the chance that a normal number is below x: exact (PyTorch's default), or in its tanh form (GPT-2, Gemma).
/// Source: Hendrycks and Gimpel 2016, arXiv:1606.08415.
Tensor gelu(const Context& context, const Tensor& x, GeluForm form = GeluForm::Erf);

/// silu(gate) * up. Source: Shazeer 2020, arXiv:2002.05202.
Tensor silu_gate(const Context& context, const Tensor& gate, const Tensor& up);

/// gelu(gate) * up; Gemma's form is GeluForm::Tanh. Source: Shazeer 2020, arXiv:2002.05202.
Tensor gelu_gate(const Context& context, const Tensor& gate, const Tensor& up, GeluForm form = GeluForm::Erf);

/// Each value of x is dropped with chance p, the others divided by 1 - p; for training only. p in [0, 1). The mask is a function of the
/// key, x's row and element; a layer's key differs from the others' in `layer`. p = 0 gives x itself.
/// Source: Srivastava et al. 2014, JMLR 15.
Tensor dropout(const Context& context, const Tensor& x, float p, const DropoutKey& key);

/// Softmax of each row of x (..., C); values at or below kernels::kMaskedValue / 2 are masked and give 0.
Tensor softmax(const Context& context, const Tensor& x);

/// Depthwise convolution of width 3 along the last dimension, padded by one zero on each side: out[d, s] = bias[d] + the sum over k of
/// x[d, s + k - 1] * weight[d, k]. x: (D, S) or (B, D, S), weight: (D, 3), bias: (D). PyTorch's conv1d with padding 1 and D groups.
Tensor conv1d(const Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias);

/// Root-mean-square norm of rows: x * (weight + weight_offset) / sqrt(mean(x^2) + eps). x: (..., C), weight: (C); the offset is 1 in
/// Gemma. Source: Zhang and Sennrich 2019, arXiv:1910.07467.
Tensor rms_norm(const Context& context, const Tensor& x, const Tensor& weight, float eps, float weight_offset = 0);

struct ResidualNorm {
  Tensor out;  // rms_norm of y
  Tensor y;    // x + residual
};
/// add and rms_norm in one pass, as a block of a transformer needs them: y = x + residual is the residual stream, out its norm. x and
/// residual: (..., C), weight: (C).
ResidualNorm rms_norm_residual(const Context& context, const Tensor& x, const Tensor& residual, const Tensor& weight,
                               float eps, float weight_offset = 0);

/// Rotary position embedding of every head. x: (B*T, heads * D), row r at position first_position + r % length; table: (positions, D)
/// from kernels::rope_table. Source: Su et al. 2021, arXiv:2104.09864.
Tensor rope(const Context& context, const Tensor& x, const Tensor& table, int64_t heads, int64_t length,
            int64_t first_position);

struct AttentionShape {
  int64_t batch = 0;
  int64_t length = 0;    // T
  int64_t heads = 0;     // H
  int64_t kv_heads = 0;  // Hkv divides H
  int64_t window = 0;    // position t sees keys t - window + 1 .. t; 0: all up to t
  float soft_cap = 0;    // a score s becomes cap * tanh(s / cap); 0: none
  Tensor first_key{};    // (B*T) u32: the position where the row's document starts; empty: one document a sequence
};

/// Causal softmax(q k^T / sqrt(D)) v with grouped queries, over all keys up to the row or those that the shape leaves. q: (B*T, H*D), k and v: (B*T, Hkv*D). Gives (B*T, H*D).
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

/// Half the mean squared error, mean((prediction - target)^2) / 2: half of PyTorch's. Both of one shape; gives (1).
Tensor mse_loss(const Context& context, const Tensor& prediction, const Tensor& target);

/// The mean of -log softmax(logits)[target] over the rows that count, in nats. logits: (rows, V), targets: (rows), below V, or
/// kernels::kIgnoreTarget where a row does not count. Gives (1): 0 when no row counts. terms: label smoothing, z-loss, soft cap.
/// For a large V use cross_entropy_head, which never holds all logits.
Tensor cross_entropy(const Context& context, const Tensor& logits, std::span<const int32_t> targets,
                     const CrossEntropyTerms& terms = {});

/// The head and its loss, taken in chunks of rows so that never all logits exist. x: (rows, C), head: (V, C), targets: (rows) with
/// kernels::kIgnoreTarget where a row does not count. loss_sum: one f32 on the device to which the sum of the rows' losses in nats is
/// added. With a tape, gradients for x and head are made at once, times `scale` (1 / number of targets of the step).
/// terms: as in cross_entropy.
void cross_entropy_head(const Context& context, const Tensor& x, const Tensor& head, std::span<const int32_t> targets,
                        float scale, const Buffer& loss_sum, const CrossEntropyTerms& terms = {});

}  // namespace athanor::tensor
