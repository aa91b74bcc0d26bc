// A model of a few thousand weights and a tokenizer of single bytes. For tests of this layer and those above.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/random.h"
#include "data/tokenizer.h"
#include "nn/llama.h"
#include "nn/model_files.h"

namespace athanor::generate {

/// One token a byte, and the end of text behind them.
inline data::Tokenizer byte_tokenizer() {
  data::TokenizerParts parts;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    parts.tokens.emplace_back(1, static_cast<char>(byte));
    parts.byte_tokens[byte] = byte;
  }
  parts.added.push_back({256, std::string(data::kEndOfText), true});
  parts.tokens.emplace_back(data::kEndOfText);
  return data::Tokenizer(std::move(parts));
}

/// Grouped queries, an own head, sizes that are no powers of two.
inline nn::LlamaConfig test_config(int64_t context = 64) {
  nn::LlamaConfig config;
  config.vocab_size = 257;
  config.hidden_size = 36;
  config.intermediate_size = 50;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  config.head_dim = 10;
  config.max_position_embeddings = context;
  config.complete("test_config");
  return config;
}

/// Weights large enough that the logits of neighbours lie far apart beside the rounding of a device.
inline nn::Llama test_model(device::Stream& stream, const nn::LlamaConfig& config = test_config()) {
  nn::Llama model(stream, config, nn::Trained::No);
  uint64_t index = 0;
  for (const nn::Parameter& parameter : model.parameters().all()) {
    Random random(7, RandomStream::Test, index++);
    std::vector<float> values(static_cast<size_t>(parameter.spec.shape.num_elements()));
    for (float& value : values)
      value = static_cast<float>(random.normal() * 0.3) + (parameter.is_decayed() ? 0.0F : 1.0F);
    stream.upload(parameter.values.buffer(), std::as_bytes(std::span(values)));
  }
  return model;
}

/// Both as a model folder.
inline void save_test_model(device::Stream& stream, const std::filesystem::path& folder,
                            const nn::LlamaConfig& config = test_config()) {
  std::filesystem::create_directories(folder);
  nn::save_model(stream, test_model(stream, config), folder);
  write_file(folder / "tokenizer.json", byte_tokenizer().to_json());
}

}  // namespace athanor::generate
