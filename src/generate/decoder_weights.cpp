// Which tensors of the file make which weight.
#include "generate/decoder_weights.h"

#include <map>
#include <string>

#include "kernels/rope/rope.h"

namespace athanor::generate {

namespace {

std::string layer_name(int64_t layer, std::string_view part) {
  return fmt::format("model.layers.{}.{}.weight", layer, part);
}

/// A weight of nn::Llama, whose layout follows from its place in the model.
Weight lying(const nn::Llama& model, const std::string& name) {
  const nn::Parameter* parameter = model.parameters().find(name);
  check(parameter != nullptr, "decoder: the model has no tensor named {}", name);
  const tensor::Tensor& values = parameter->values;
  const bool turned = parameter->spec.layout == nn::FileLayout::Transposed;
  Weight weight;
  weight.values = values.mirror() ? values.mirror() : values.buffer();
  weight.format = values.mirror() ? WeightFormat::F16 : WeightFormat::F32;
  weight.layout = turned ? Weight::Layout::InOut : Weight::Layout::OutIn;
  weight.inputs = values.shape()[turned ? 0 : 1];
  weight.outputs = values.shape()[turned ? 1 : 0];
  return weight;
}

/// Tensors by name, from the file into buffers.
class Uploader {
 public:
  Uploader(device::Stream& stream, const nn::LlamaConfig& config, const nn::ReadWeight& read, WeightFormat format)
      : stream_(stream), read_(read), format_(format) {
    for (nn::ParameterSpec& spec : nn::llama_parameters(config)) specs_.emplace(spec.name, std::move(spec));
  }

  std::vector<float> values(const std::string& name) const { return read_(specs_.at(name)); }

  device::Buffer norm(const std::string& name) const {
    const std::vector<float> loaded = values(name);
    const device::Buffer buffer = stream_.device().allocate(static_cast<int64_t>(loaded.size()) * 4, "norm weights");
    stream_.upload(buffer, std::as_bytes(std::span(loaded)));
    return buffer;
  }

  Weight matrix(std::span<const float> loaded, int64_t inputs) const {
    return upload_weight(stream_, loaded, static_cast<int64_t>(loaded.size()) / inputs, inputs,
                         fitting_format(format_, inputs));
  }

  JoinedWeights joined(std::initializer_list<std::string> names, int64_t inputs) const {
    std::vector<std::vector<float>> parts;
    for (const std::string& name : names) parts.push_back(values(name));
    return upload_joined(stream_, parts, inputs, fitting_format(format_, inputs));
  }

 private:
  device::Stream& stream_;
  const nn::ReadWeight& read_;
  WeightFormat format_;
  std::map<std::string, nn::ParameterSpec> specs_;
};

int64_t bytes_of(const Weight& weight) { return weight.values.size_bytes(); }

int64_t bytes_of(const JoinedWeights& weights) {
  int64_t bytes = 0;
  for (const Weight& part : weights.parts) bytes += bytes_of(part);
  return bytes;
}

}  // namespace

int64_t DecoderWeights::read_bytes_per_token() const {
  int64_t bytes = norm.size_bytes() + bytes_of(head) + config.hidden_size * 4;
  for (const DecoderBlock& block : blocks) {
    bytes += block.input_norm.size_bytes() + block.post_attention_norm.size_bytes();
    bytes += bytes_of(block.qkv) + bytes_of(block.o_proj) + bytes_of(block.gate_up) + bytes_of(block.down_proj);
  }
  return bytes;
}

DecoderWeights weights_where_they_lie(const nn::Llama& model) {
  DecoderWeights weights;
  weights.config = model.config();
  weights.rope_table = model.rope_table().buffer();
  const nn::Parameters& parameters = model.parameters();
  weights.embed_tokens = parameters.at("model.embed_tokens.weight").buffer();
  weights.norm = parameters.at("model.norm.weight").buffer();
  weights.head = lying(model, model.config().tie_word_embeddings ? "model.embed_tokens.weight" : "lm_head.weight");
  for (int64_t layer = 0; layer < model.config().num_hidden_layers; ++layer) {
    const auto matrix = [&](std::string_view part) { return lying(model, layer_name(layer, part)); };
    DecoderBlock& block = weights.blocks.emplace_back();
    block.input_norm = parameters.at(layer_name(layer, "input_layernorm")).buffer();
    block.qkv.parts = {matrix("self_attn.q_proj"), matrix("self_attn.k_proj"), matrix("self_attn.v_proj")};
    block.o_proj = matrix("self_attn.o_proj");
    block.post_attention_norm = parameters.at(layer_name(layer, "post_attention_layernorm")).buffer();
    block.gate_up.parts = {matrix("mlp.gate_proj"), matrix("mlp.up_proj")};
    block.down_proj = matrix("mlp.down_proj");
  }
  weights.format = weights.head.format;
  return weights;
}

DecoderWeights upload_weights(device::Stream& stream, const nn::LlamaConfig& config, const nn::ReadWeight& read,
                              WeightFormat format) {
  const int64_t c = config.hidden_size;
  const Uploader upload(stream, config, read, format);
  DecoderWeights weights;
  weights.config = config;
  weights.format = format;
  const std::vector<float> table =
      kernels::rope_table(config.max_position_embeddings, config.head_dim, config.rope_theta);
  weights.rope_table = stream.device().allocate(static_cast<int64_t>(table.size()) * 4, "rope table");
  stream.upload(weights.rope_table, std::as_bytes(std::span(table)));
  {
    const std::vector<float> embedding = upload.values("model.embed_tokens.weight");
    const Weight lookup = upload_weight(stream, embedding, config.vocab_size, c, WeightFormat::F32);
    weights.embed_tokens = lookup.values;
    if (config.tie_word_embeddings) weights.head = format == WeightFormat::F32 ? lookup : upload.matrix(embedding, c);
  }
  if (!config.tie_word_embeddings) weights.head = upload.matrix(upload.values("lm_head.weight"), c);
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const auto name = [&](std::string_view part) { return layer_name(layer, part); };
    DecoderBlock& block = weights.blocks.emplace_back();
    block.input_norm = upload.norm(name("input_layernorm"));
    block.qkv = upload.joined({name("self_attn.q_proj"), name("self_attn.k_proj"), name("self_attn.v_proj")}, c);
    block.o_proj = upload.matrix(upload.values(name("self_attn.o_proj")), config.num_attention_heads * config.head_dim);
    block.post_attention_norm = upload.norm(name("post_attention_layernorm"));
    block.gate_up = upload.joined({name("mlp.gate_proj"), name("mlp.up_proj")}, c);
    block.down_proj = upload.matrix(upload.values(name("mlp.down_proj")), config.intermediate_size);
  }
  weights.norm = upload.norm("model.norm.weight");
  return weights;
}

}  // namespace athanor::generate
