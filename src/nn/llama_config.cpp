// Reading and writing config.json. The file is hostile until checked.
#include "nn/llama_config.h"

#include "base/error.h"
#include "base/mapped_file.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace athanor::nn {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int64_t kLargestSize = int64_t{1} << 24;  // any single extent; keeps every product of two within 64 bits

int64_t integer(const json& object, const char* key, int64_t otherwise, std::string_view source) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return otherwise;
  check(found->is_number_integer(), "{}: {} is {}; it must be a whole number", source, key, found->dump());
  const int64_t value = found->get<int64_t>();
  check(value >= 0 && value <= kLargestSize, "{}: {} is {}; it must lie between 0 and {}", source, key, value,
        kLargestSize);
  return value;
}

double number(const json& object, const char* key, double otherwise, std::string_view source) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return otherwise;
  check(found->is_number() && std::isfinite(found->get<double>()) && found->get<double>() > 0,
        "{}: {} is {}; it must be a number above 0", source, key, found->dump());
  return found->get<double>();
}

/// A share of values to drop; 0 where there is none.
double share(const json& object, const char* key, std::string_view source) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return 0;
  check(found->is_number(), "{}: {} is {}; it must be a number", source, key, found->dump());
  return found->get<double>();
}

bool boolean(const json& object, const char* key, bool otherwise, std::string_view source) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return otherwise;
  check(found->is_boolean(), "{}: {} is {}; it must be true or false", source, key, found->dump());
  return found->get<bool>();
}

/// A token id, or the first of a list of them; -1 when there is none.
int64_t token_id(const json& object, const char* key, std::string_view source) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return -1;
  const json& value = found->is_array() && !found->empty() ? found->front() : *found;
  check(value.is_number_integer() && value.get<int64_t>() >= 0, "{}: {} is {}; it must be a token id", source, key,
        found->dump());
  return value.get<int64_t>();
}

void refuse_what_is_not_llama(const json& object, std::string_view source) {
  const std::string type =
      object.value("model_type", json("llama")).is_string() ? object.value("model_type", "llama") : "";
  check(type == "llama" || type == "mistral",
        "{}: model_type is \"{}\"; this version reads llama (and mistral without a window)", source, type);
  const auto activation = object.find("hidden_act");
  check(activation == object.end() || *activation == "silu", "{}: hidden_act is {}; only \"silu\" is known", source,
        activation == object.end() ? "" : activation->dump());
  for (const char* key : {"attention_bias", "mlp_bias"}) {
    check(!boolean(object, key, false, source), "{}: {} is true; models with biases are not read yet", source, key);
  }
  for (const char* key : {"rope_scaling", "sliding_window", "quantization", "quantization_config"}) {
    const auto found = object.find(key);
    check(found == object.end() || found->is_null(), "{}: {} is {}; this version cannot do that", source, key,
          found == object.end() ? "" : found->dump());
  }
}

}  // namespace

void LlamaConfig::complete(std::string_view source) {
  if (num_key_value_heads == 0) num_key_value_heads = num_attention_heads;
  const auto positive = [&](int64_t value, const char* key) {
    check(value > 0 && value <= kLargestSize, "{}: {} is {}; it must lie between 1 and {}", source, key, value,
          kLargestSize);
  };
  positive(vocab_size, "vocab_size");
  positive(hidden_size, "hidden_size");
  positive(intermediate_size, "intermediate_size");
  positive(num_hidden_layers, "num_hidden_layers");
  positive(num_attention_heads, "num_attention_heads");
  positive(max_position_embeddings, "max_position_embeddings");
  check(num_hidden_layers <= 4096, "{}: num_hidden_layers is {}; at most 4096", source, num_hidden_layers);
  check(num_attention_heads % num_key_value_heads == 0,
        "{}: num_attention_heads {} is no multiple of num_key_value_heads {}; change one of them", source,
        num_attention_heads, num_key_value_heads);
  if (head_dim == 0) {
    check(hidden_size % num_attention_heads == 0,
          "{}: num_attention_heads {} does not divide hidden_size {}; give head_dim", source, num_attention_heads,
          hidden_size);
    head_dim = hidden_size / num_attention_heads;
  }
  check(head_dim % 2 == 0 && head_dim <= 256, "{}: head_dim is {}; rotary positions need an even number of at most 256",
        source, head_dim);
  const auto is_share = [&](double value, const char* key) {
    check(value >= 0 && static_cast<float>(value) < 1, "{}: {} is {}; it must be at least 0 and below 1", source, key,
          value);
  };
  is_share(embd_pdrop, "embd_pdrop");
  is_share(resid_pdrop, "resid_pdrop");
  is_share(attention_dropout, "attention_dropout");
}

void LlamaConfig::check_can_train(std::string_view source) const {
  check(attention_dropout == 0,
        "{}: attention_dropout is {}; this version drops no attention probabilities: set it to 0, and drop with "
        "resid_pdrop and embd_pdrop",
        source, attention_dropout);
}

int64_t LlamaConfig::num_weights() const {
  const int64_t attention = hidden_size * head_dim * (2 * num_attention_heads + 2 * num_key_value_heads);
  const int64_t layer = attention + 3 * hidden_size * intermediate_size + 2 * hidden_size;
  return num_hidden_layers * layer + hidden_size + vocab_size * hidden_size * (tie_word_embeddings ? 1 : 2);
}

double LlamaConfig::training_flops_per_token(int64_t length) const {
  const int64_t attention = hidden_size * head_dim * (2 * num_attention_heads + 2 * num_key_value_heads);
  const double products = static_cast<double>(num_hidden_layers * (attention + 3 * hidden_size * intermediate_size) +
                                              vocab_size * hidden_size);
  // Scores and values: 2 products of 2 * D operations for half of the positions, times 3 for forward and backward.
  const double scores =
      static_cast<double>(num_hidden_layers * num_attention_heads * head_dim) * static_cast<double>(length) * 6.0;
  return 6.0 * products + scores;
}

LlamaConfig LlamaConfig::from_json(std::string_view text, std::string_view source) {
  const json object = json::parse(text, nullptr, false);
  check(!object.is_discarded() && object.is_object(), "{}: not a JSON object; a Hugging Face config.json is needed",
        source);
  refuse_what_is_not_llama(object, source);
  LlamaConfig config;
  config.vocab_size = integer(object, "vocab_size", 0, source);
  config.hidden_size = integer(object, "hidden_size", 0, source);
  config.intermediate_size = integer(object, "intermediate_size", 0, source);
  config.num_hidden_layers = integer(object, "num_hidden_layers", 0, source);
  config.num_attention_heads = integer(object, "num_attention_heads", 0, source);
  config.num_key_value_heads = integer(object, "num_key_value_heads", 0, source);
  config.head_dim = integer(object, "head_dim", 0, source);
  config.max_position_embeddings = integer(object, "max_position_embeddings", 2048, source);
  config.rms_norm_eps = number(object, "rms_norm_eps", 1e-6, source);
  config.rope_theta = number(object, "rope_theta", 10000.0, source);
  // transformers 5 moved the base frequency into a group of its own.
  const auto rope = object.find("rope_parameters");
  if (rope != object.end() && rope->is_object()) {
    const auto type = rope->find("rope_type");
    check(type == rope->end() || *type == "default", "{}: rope_parameters.rope_type is {}; only \"default\" is known",
          source, type == rope->end() ? "" : type->dump());
    config.rope_theta = number(*rope, "rope_theta", config.rope_theta, source);
  }
  config.tie_word_embeddings = boolean(object, "tie_word_embeddings", false, source);
  config.embd_pdrop = share(object, "embd_pdrop", source);
  config.resid_pdrop = share(object, "resid_pdrop", source);
  config.attention_dropout = share(object, "attention_dropout", source);
  config.bos_token_id = token_id(object, "bos_token_id", source);
  config.eos_token_id = token_id(object, "eos_token_id", source);
  config.complete(source);
  return config;
}

std::string LlamaConfig::to_json() const {
  ordered_json object;
  object["architectures"] = {"LlamaForCausalLM"};
  object["model_type"] = "llama";
  object["vocab_size"] = vocab_size;
  object["hidden_size"] = hidden_size;
  object["intermediate_size"] = intermediate_size;
  object["num_hidden_layers"] = num_hidden_layers;
  object["num_attention_heads"] = num_attention_heads;
  object["num_key_value_heads"] = num_key_value_heads;
  object["head_dim"] = head_dim;
  object["max_position_embeddings"] = max_position_embeddings;
  object["hidden_act"] = "silu";
  object["attention_bias"] = false;
  object["mlp_bias"] = false;
  object["rms_norm_eps"] = rms_norm_eps;
  object["rope_theta"] = rope_theta;
  object["tie_word_embeddings"] = tie_word_embeddings;
  if (embd_pdrop > 0) object["embd_pdrop"] = embd_pdrop;
  if (resid_pdrop > 0) object["resid_pdrop"] = resid_pdrop;
  if (attention_dropout > 0) object["attention_dropout"] = attention_dropout;
  if (bos_token_id >= 0) object["bos_token_id"] = bos_token_id;
  if (eos_token_id >= 0) object["eos_token_id"] = eos_token_id;
  object["torch_dtype"] = "float32";
  return object.dump(2) + "\n";
}

LlamaConfig load_llama_config(const std::filesystem::path& path) {
  const MappedFile file(path);
  const std::span<const std::byte> bytes = file.bytes();
  return LlamaConfig::from_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
}

}  // namespace athanor::nn
