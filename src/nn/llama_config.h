// The shape of a Llama-family model, as a Hugging Face config.json gives it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace athanor::nn {

struct LlamaConfig {
  int64_t vocab_size = 0;         // V
  int64_t hidden_size = 0;        // C
  int64_t intermediate_size = 0;  // F
  int64_t num_hidden_layers = 0;
  int64_t num_attention_heads = 0;      // H
  int64_t num_key_value_heads = 0;      // Hkv; 0: as many as heads
  int64_t head_dim = 0;                 // D; 0: hidden_size / heads
  int64_t max_position_embeddings = 0;  // longest context
  double rms_norm_eps = 1e-5;
  double rope_theta = 10000.0;
  bool tie_word_embeddings = false;
  // Shares of values that training drops, in [0, 1); nothing is dropped elsewhere.
  double embd_pdrop = 0;         // of the embedding's rows
  double resid_pdrop = 0;        // of what attention and feed-forward add to the residual stream
  double attention_dropout = 0;  // of attention's probabilities: read, but not trained with (see check_can_train)
  int64_t bos_token_id = -1;     // -1: none
  int64_t eos_token_id = -1;

  /// Fills what was left 0 and throws Error, naming the key and `source`, for sizes that make no model.
  void complete(std::string_view source);
  /// Throws Error, naming `source`, for what this version generates with but cannot train: attention_dropout.
  void check_can_train(std::string_view source) const;
  int64_t num_weights() const;
  /// Multiplications and additions of forward and backward for one token of a sequence of `length`: 6 a weight of a product, and attention.
  double training_flops_per_token(int64_t length) const;

  /// config.json of a Hugging Face folder; `source` names it in errors. What this model cannot do (a bias, another activation, a
  /// scaled RoPE, another model type) is refused by its key.
  static LlamaConfig from_json(std::string_view text, std::string_view source);
  std::string to_json() const;
};

LlamaConfig load_llama_config(const std::filesystem::path& path);

}  // namespace athanor::nn
