// The forward pass of a Llama-family model; the tape makes the backward pass.
#include "nn/llama.h"

#include "kernels/rope/rope.h"

#include <cmath>

namespace athanor::nn {

namespace {

constexpr float kInitialStd = 0.02F;  // GPT-2's; residual outputs are divided by sqrt(2 * layers)

std::string layer_name(int64_t layer, std::string_view part) {
  return fmt::format("model.layers.{}.{}.weight", layer, part);
}

}  // namespace

std::vector<ParameterSpec> llama_parameters(const LlamaConfig& config) {
  const int64_t c = config.hidden_size;
  const int64_t f = config.intermediate_size;
  const int64_t q = config.num_attention_heads * config.head_dim;
  const int64_t kv = config.num_key_value_heads * config.head_dim;
  const float residual_std = kInitialStd / std::sqrt(2.0F * static_cast<float>(config.num_hidden_layers));
  std::vector<ParameterSpec> specs;
  specs.push_back({"model.embed_tokens.weight", Shape{config.vocab_size, c}, FileLayout::AsStored, kInitialStd});
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const auto matrix = [&](std::string_view part, int64_t in, int64_t out, float std) {
      specs.push_back({layer_name(layer, part), Shape{in, out}, FileLayout::Transposed, std});
    };
    specs.push_back({layer_name(layer, "input_layernorm"), Shape{c}});
    matrix("self_attn.q_proj", c, q, kInitialStd);
    matrix("self_attn.k_proj", c, kv, kInitialStd);
    matrix("self_attn.v_proj", c, kv, kInitialStd);
    matrix("self_attn.o_proj", q, c, residual_std);
    specs.push_back({layer_name(layer, "post_attention_layernorm"), Shape{c}});
    matrix("mlp.gate_proj", c, f, kInitialStd);
    matrix("mlp.up_proj", c, f, kInitialStd);
    matrix("mlp.down_proj", f, c, residual_std);
  }
  specs.push_back({"model.norm.weight", Shape{c}});
  if (!config.tie_word_embeddings) {
    specs.push_back({"lm_head.weight", Shape{config.vocab_size, c}, FileLayout::AsStored, kInitialStd});
  }
  return specs;
}

Llama::Llama(device::Stream& stream, const LlamaConfig& config, Trained trained, Precision precision)
    : config_(config), parameters_(stream, llama_parameters(config), trained, precision) {
  if (trained == Trained::Yes) config_.check_can_train("llama");
  embed_tokens_ = parameters_.at("model.embed_tokens.weight");
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const auto part = [&](std::string_view name) { return parameters_.at(layer_name(layer, name)); };
    blocks_.push_back({part("input_layernorm"), part("self_attn.q_proj"), part("self_attn.k_proj"),
                       part("self_attn.v_proj"), part("self_attn.o_proj"), part("post_attention_layernorm"),
                       part("mlp.gate_proj"), part("mlp.up_proj"), part("mlp.down_proj")});
  }
  norm_ = parameters_.at("model.norm.weight");
  head_ = config.tie_word_embeddings ? embed_tokens_ : parameters_.at("lm_head.weight");
  const std::vector<float> table =
      kernels::rope_table(config.max_position_embeddings, config.head_dim, config.rope_theta);
  rope_table_ =
      tensor::from_values(stream, table, Shape{config.max_position_embeddings, config.head_dim}, "rope table");
}

void Llama::check_rows(std::span<const uint32_t> ids, const Rows& rows) const {
  check(rows.batch > 0 && rows.length > 0 && static_cast<int64_t>(ids.size()) == rows.batch * rows.length,
        "llama: {} ids do not make {} sequences of {} tokens", ids.size(), rows.batch, rows.length);
  check(rows.first_position >= 0 && rows.first_position + rows.length <= config_.max_position_embeddings,
        "llama: a context of {} tokens is longer than the model's {} (max_position_embeddings); shorten it",
        rows.first_position + rows.length, config_.max_position_embeddings);
}

tensor::Tensor Llama::dropped(const tensor::Context& context, const tensor::Tensor& x, double share, const Rows& rows,
                              int64_t place) {
  if (!rows.dropout || share == 0) return x;
  tensor::DropoutKey key = *rows.dropout;
  key.layer = place;
  return tensor::dropout(context, x, static_cast<float>(share), key);
}

Llama::BlockOutput Llama::block(const tensor::Context& context, int64_t layer, const tensor::Tensor& x,
                                const tensor::Tensor& normed, const Rows& rows,
                                const AttentionFunction& attention) const {
  const LlamaBlock& weights = blocks_[static_cast<size_t>(layer)];
  const auto rotated = [&](const tensor::Tensor& values, int64_t heads) {
    return tensor::rope(context, values, rope_table_, heads, rows.length, rows.first_position);
  };

  const tensor::Tensor q = rotated(tensor::matmul(context, normed, weights.q_proj), config_.num_attention_heads);
  const tensor::Tensor k = rotated(tensor::matmul(context, normed, weights.k_proj), config_.num_key_value_heads);
  const tensor::Tensor v = tensor::matmul(context, normed, weights.v_proj);
  const tensor::Tensor mixed = attention(context, layer, q, k, v);
  const tensor::Tensor projected =
      dropped(context, tensor::matmul(context, mixed, weights.o_proj), config_.resid_pdrop, rows, 1 + 2 * layer);
  const tensor::ResidualNorm attended =
      tensor::rms_norm_residual(context, projected, x, weights.post_attention_norm, eps());

  const tensor::Tensor gate = tensor::matmul(context, attended.out, weights.gate_proj);
  const tensor::Tensor up = tensor::matmul(context, attended.out, weights.up_proj);
  const tensor::Tensor update = tensor::swiglu_matmul(context, gate, up, weights.down_proj);
  return {attended.y, dropped(context, update, config_.resid_pdrop, rows, 2 + 2 * layer)};
}

tensor::Tensor Llama::kept_blocks(const tensor::Context& context, tensor::Tensor x, const Rows& rows,
                                  const AttentionFunction& attention) const {
  tensor::Tensor normed = tensor::rms_norm(context, x, blocks_.front().input_norm, eps());
  for (int64_t layer = 0; layer < config_.num_hidden_layers; ++layer) {
    const BlockOutput output = block(context, layer, x, normed, rows, attention);
    const bool is_last = layer + 1 == config_.num_hidden_layers;
    const tensor::Tensor& norm = is_last ? norm_ : blocks_[static_cast<size_t>(layer + 1)].input_norm;
    const tensor::ResidualNorm next = tensor::rms_norm_residual(context, output.update, output.stream, norm, eps());
    x = next.y;
    normed = next.out;
  }
  return normed;
}

tensor::Tensor Llama::recomputed_blocks(const tensor::Context& context, tensor::Tensor x, const Rows& rows,
                                        const AttentionFunction& attention) const {
  for (int64_t layer = 0; layer < config_.num_hidden_layers; ++layer) {
    // The sum and the norm stay apart here, since a block that takes both would keep both.
    x = tensor::checkpoint(context, x,
                           [this, layer, rows, attention](const tensor::Context& inner, const tensor::Tensor& input) {
                             const tensor::Tensor normed =
                                 tensor::rms_norm(inner, input, blocks_[static_cast<size_t>(layer)].input_norm, eps());
                             const BlockOutput output = block(inner, layer, input, normed, rows, attention);
                             return tensor::add(inner, output.update, output.stream);
                           });
  }
  return tensor::rms_norm(context, x, norm_, eps());
}

tensor::Tensor Llama::hidden(const tensor::Context& context, std::span<const uint32_t> ids, const Rows& rows,
                             const AttentionFunction& attention, Recompute recompute) const {
  check_rows(ids, rows);
  const tensor::TokenIds uploaded = tensor::upload_token_ids(context, ids, config_.vocab_size);
  const tensor::Tensor x =
      dropped(context, tensor::embedding(context, embed_tokens_, uploaded), config_.embd_pdrop, rows, 0);
  return recompute == Recompute::Blocks ? recomputed_blocks(context, x, rows, attention)
                                        : kept_blocks(context, x, rows, attention);
}

void Llama::loss(const tensor::Context& context, std::span<const uint32_t> ids, std::span<const int32_t> targets,
                 const Rows& rows, float scale, const device::Buffer& loss_sum, Recompute recompute,
                 const kernels::CrossEntropyTerms& terms) const {
  const tensor::Tensor states =
      hidden(context, ids, rows, causal_attention(rows, upload_first_keys(context.stream, rows)), recompute);
  tensor::cross_entropy_head(context, states, head_, targets, scale, loss_sum, terms);
}

tensor::Tensor Llama::logits(const tensor::Context& context, const tensor::Tensor& hidden) const {
  return tensor::matmul_t(context, hidden, head_);
}

tensor::Tensor upload_first_keys(device::Stream& stream, const Rows& rows) {
  if (rows.first_keys.empty()) return {};
  check(static_cast<int64_t>(rows.first_keys.size()) == rows.batch * rows.length,
        "llama: {} first keys do not fit {} sequences of {} tokens; pass one a token", rows.first_keys.size(),
        rows.batch, rows.length);
  for (size_t i = 0; i < rows.first_keys.size(); ++i) {
    const int64_t position = static_cast<int64_t>(i) % rows.length;
    check(rows.first_keys[i] <= position, "llama: the document of position {} would start at {}, behind it", position,
          rows.first_keys[i]);
  }
  const tensor::Tensor uploaded = tensor::empty(stream, Shape{rows.batch * rows.length}, "first keys", DType::U32);
  stream.upload(uploaded.buffer(), std::as_bytes(rows.first_keys));
  return uploaded;
}

AttentionFunction Llama::causal_attention(const Rows& rows, const tensor::Tensor& first_key) const {
  check(rows.first_keys.empty() || first_key, "llama: the rows are packed documents; pass their first keys, uploaded");
  tensor::AttentionShape shape{rows.batch, rows.length, config_.num_attention_heads, config_.num_key_value_heads};
  shape.first_key = first_key;
  return [shape](const tensor::Context& context, int64_t, const tensor::Tensor& q, const tensor::Tensor& k,
                 const tensor::Tensor& v) { return tensor::attention(context, q, k, v, shape); };
}

}  // namespace athanor::nn
