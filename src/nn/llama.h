// A Llama-family model: pre-norm blocks of grouped-query attention with rotary positions and a SwiGLU feed-forward, as plain structs of
// named tensors. Source: Touvron et al. 2023, arXiv:2302.13971 and 2307.09288.
#pragma once

#include "nn/llama_config.h"
#include "nn/parameters.h"
#include "tensor/ops.h"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace athanor::nn {

struct LlamaBlock {
  tensor::Tensor input_norm;           // (C)
  tensor::Tensor q_proj;               // (C, H*D)
  tensor::Tensor k_proj;               // (C, Hkv*D)
  tensor::Tensor v_proj;               // (C, Hkv*D)
  tensor::Tensor o_proj;               // (H*D, C)
  tensor::Tensor post_attention_norm;  // (C)
  tensor::Tensor gate_proj;            // (C, F)
  tensor::Tensor up_proj;              // (C, F)
  tensor::Tensor down_proj;            // (F, C)
};

/// Where the rows of a batch stand: `batch` sequences of `length` tokens, the first at `first_position`. Positions run on through packed
/// documents: the rotary embedding sees only differences, so a document's scores are those it has alone.
struct Rows {
  int64_t batch = 1;
  int64_t length = 0;
  int64_t first_position = 0;
  /// (batch * length) of packed documents: where in its sequence each position's document starts. Empty: one document a sequence.
  std::span<const uint32_t> first_keys{};
  /// In training, what the masks of the model's dropouts follow from (its layer is filled in by the model); empty: nothing is dropped.
  std::optional<tensor::DropoutKey> dropout{};
};

/// q (rows, H*D), k and v (rows, Hkv*D), rotated already; gives (rows, H*D). Training passes causal attention over the rows
/// themselves, generation one that keeps keys and values.
using AttentionFunction = std::function<tensor::Tensor(const tensor::Context&, int64_t layer, const tensor::Tensor& q,
                                                       const tensor::Tensor& k, const tensor::Tensor& v)>;

enum class Recompute { No, Blocks };

class Llama {
 public:
  /// Weights are zero until parameters().initialize() or a file fills them.
  Llama(device::Stream& stream, const LlamaConfig& config, Trained trained, Precision precision = Precision::F32);

  const LlamaConfig& config() const { return config_; }
  Parameters& parameters() { return parameters_; }
  /// (max_position_embeddings, D): kernels::rope_table.
  const tensor::Tensor& rope_table() const { return rope_table_; }
  const Parameters& parameters() const { return parameters_; }

  /// Final hidden states, normed: (rows, C). ids.size() is batch * length.
  tensor::Tensor hidden(const tensor::Context& context, std::span<const uint32_t> ids, const Rows& rows,
                        const AttentionFunction& attention, Recompute recompute = Recompute::No) const;

  /// Adds the sum of the rows' losses in nats to loss_sum and, with a tape, leaves what the backward pass needs; `scale` is
  /// 1 / number of targets of the whole step. targets: kernels::kIgnoreTarget where a row does not count.
  void loss(const tensor::Context& context, std::span<const uint32_t> ids, std::span<const int32_t> targets,
            const Rows& rows, float scale, const device::Buffer& loss_sum, Recompute recompute = Recompute::No,
            const kernels::CrossEntropyTerms& terms = {}) const;

  /// (rows, V) of hidden states; the caller picks few rows, since V is large.
  tensor::Tensor logits(const tensor::Context& context, const tensor::Tensor& hidden) const;

  /// Causal attention over the rows themselves; first_key: rows.first_keys on the device (upload_first_keys), where there are any.
  AttentionFunction causal_attention(const Rows& rows, const tensor::Tensor& first_key = {}) const;

 private:
  /// What a block leaves: its output is stream + update. The sum is made together with the norm that follows.
  struct BlockOutput {
    tensor::Tensor stream;  // (rows, C): the residual stream, with the attention in it
    tensor::Tensor update;  // (rows, C): what the feed-forward adds
  };
  /// x: the residual stream, normed: its norm by the block's input_norm.
  BlockOutput block(const tensor::Context& context, int64_t layer, const tensor::Tensor& x,
                    const tensor::Tensor& normed, const Rows& rows, const AttentionFunction& attention) const;
  /// The blocks with their gradients' inputs kept / with one tensor kept a block. Both give the final hidden states, normed.
  tensor::Tensor kept_blocks(const tensor::Context& context, tensor::Tensor x, const Rows& rows,
                             const AttentionFunction& attention) const;
  tensor::Tensor recomputed_blocks(const tensor::Context& context, tensor::Tensor x, const Rows& rows,
                                   const AttentionFunction& attention) const;
  /// x with `share` of its values dropped, where rows.dropout says so. place: which dropout of the model.
  static tensor::Tensor dropped(const tensor::Context& context, const tensor::Tensor& x, double share, const Rows& rows,
                                int64_t place);
  float eps() const { return static_cast<float>(config_.rms_norm_eps); }
  void check_rows(std::span<const uint32_t> ids, const Rows& rows) const;

  LlamaConfig config_;
  Parameters parameters_;
  tensor::Tensor embed_tokens_;  // (V, C)
  std::vector<LlamaBlock> blocks_;
  tensor::Tensor norm_;        // (C)
  tensor::Tensor head_;        // (V, C): lm_head, or embed_tokens when tied
  tensor::Tensor rope_table_;  // (max_position_embeddings, D)
};

/// rows.first_keys on the device; an empty buffer when there are none. Throws Error for one that lies behind its position.
tensor::Tensor upload_first_keys(device::Stream& stream, const Rows& rows);

/// The named tensors of such a model, in the order of the file.
std::vector<ParameterSpec> llama_parameters(const LlamaConfig& config);

}  // namespace athanor::nn
