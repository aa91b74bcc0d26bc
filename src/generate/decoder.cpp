// nn::Llama's blocks without a tape. Of one token norms, gate and additions are part of the products around them; a prompt
// takes a kernel for each, as training does.
#include "generate/decoder.h"

#include <cmath>

#include "kernels/attention_decode/attention_decode.h"
#include "kernels/embedding/embedding.h"
#include "kernels/matmul/matmul.h"
#include "kernels/rms_norm/rms_norm.h"
#include "kernels/rms_norm_residual/rms_norm_residual.h"
#include "kernels/rope_attention_decode/rope_attention_decode.h"
#include "kernels/rope_to_cache/rope_to_cache.h"
#include "kernels/silu_gate/silu_gate.h"

namespace athanor::generate {

using kernels::Accumulate;
using kernels::MatVecOperand;

namespace {

/// True where the product with silu(gate) * up has a kernel that needs no stored hidden matrix.
bool makes_hidden_itself(const Weight& down) { return down.layout == Weight::Layout::InOut; }

float eps_of(const nn::LlamaConfig& config) { return static_cast<float>(config.rms_norm_eps); }

}  // namespace

Decoder::Activations::Activations(device::Stream& stream, const DecoderWeights& weights, int64_t row_count)
    : rows(row_count) {
  const auto make = [&](int64_t columns) { return stream.device().allocate(rows * columns * 4, "decoder"); };
  const auto make_parts = [&](const JoinedWeights& products) {
    Parts made;
    if (rows == 1 && products.joined.values) made.joined = make(products.joined.outputs);
    for (size_t i = 0; i < products.parts.size(); ++i) {
      const int64_t outputs = products.parts[i].outputs;
      made.parts.push_back(made.joined ? made.joined.slice(products.first_output[i] * 4, outputs * 4) : make(outputs));
    }
    return made;
  };
  const nn::LlamaConfig& config = weights.config;
  const DecoderBlock& block = weights.blocks.front();  // all are alike
  for (device::Buffer& buffer : streams) buffer = make(config.hidden_size);
  normed = make(config.hidden_size);
  qkv = make_parts(block.qkv);
  if (rows > 1) rotated = make(config.num_attention_heads * config.head_dim);
  mixed = make(config.num_attention_heads * config.head_dim);
  update = make(config.hidden_size);
  gate_up = make_parts(block.gate_up);
  if (!makes_hidden_itself(block.down_proj)) hidden = make(config.intermediate_size);
}

Decoder::Decoder(device::Stream& stream, DecoderWeights weights, int64_t context_length)
    : stream_(stream),
      weights_(std::move(weights)),
      cache_(stream, config(), context_length == 0 ? config().max_position_embeddings : context_length),
      one_(stream, weights_, 1),
      logits_(stream.device().allocate(config().vocab_size * 4, "logits")),
      last_(stream.device().allocate(config().hidden_size * 4, "last hidden state")) {}

void Decoder::feed(std::span<const uint32_t> ids, Logits wanted) {
  check(!ids.empty(), "decoder: no tokens to feed; pass at least one");
  kernels::check_ids(ids, config().vocab_size);
  const device::Buffer uploaded = stream_.device().allocate(static_cast<int64_t>(ids.size_bytes()), "token ids");
  stream_.upload(uploaded, std::as_bytes(ids));
  if (ids.size() == 1) {
    run(uploaded, one_);
    if (wanted == Logits::OfTheLast) run_head(one_);
    return;
  }
  Activations piece(stream_, weights_, static_cast<int64_t>(ids.size()));
  run(uploaded, piece);
  if (wanted == Logits::OfTheLast) run_head(piece);
}

void Decoder::feed_one(const device::Buffer& id) {
  run(id, one_);
  run_head(one_);
}

void Decoder::run(const device::Buffer& ids, Activations& a) {
  check(a.rows <= cache_.capacity() - cache_.length(),
        "kv_cache: {} new tokens do not fit behind {} in a context of {}", a.rows, cache_.length(), cache_.capacity());
  kernels::embedding(stream_,
                     {weights_.embed_tokens, ids, a.streams[0], a.rows, config().hidden_size, config().vocab_size});
  joins(a) ? run_blocks_of_row() : run_blocks(a);
  cache_.advance(a.rows);
}

void Decoder::run_blocks(Activations& a) const {
  kernels::rms_norm(stream_, {a.streams[0], weights_.blocks.front().input_norm, a.normed, a.rows, config().hidden_size,
                              eps_of(config())});
  const int64_t layers = config().num_hidden_layers;
  for (int64_t layer = 0; layer < layers; ++layer) {
    const DecoderBlock& block = weights_.blocks[static_cast<size_t>(layer)];
    project(block.qkv, a, a.qkv);
    attend(layer, a);
    product(stream_, a.mixed, block.o_proj, a.update, a.rows);
    add_and_norm(block.post_attention_norm, a);
    feed_forward(block, a);
    add_and_norm(layer + 1 < layers ? weights_.blocks[static_cast<size_t>(layer + 1)].input_norm : weights_.norm, a);
  }
}

void Decoder::run_blocks_of_row() const {
  const Activations& a = one_;
  const device::Buffer& stream = a.streams[0];
  const float eps = eps_of(config());
  for (int64_t layer = 0; layer < config().num_hidden_layers; ++layer) {
    const DecoderBlock& block = weights_.blocks[static_cast<size_t>(layer)];
    product_of_row(stream_, MatVecOperand::RmsNorm, stream, block.input_norm, block.qkv.joined, a.qkv.joined,
                   Accumulate::No, eps);
    attend(layer, a);
    product_of_row(stream_, MatVecOperand::Plain, a.mixed, {}, block.o_proj, stream, Accumulate::Yes);
    product_of_row(stream_, MatVecOperand::RmsNorm, stream, block.post_attention_norm, block.gate_up.joined,
                   a.gate_up.joined, Accumulate::No, eps);
    product_of_row(stream_, MatVecOperand::Swiglu, a.gate_up.parts[0], a.gate_up.parts[1], block.down_proj, stream,
                   Accumulate::Yes);
  }
}

void Decoder::project(const JoinedWeights& weights, const Activations& a, const Activations::Parts& out) const {
  for (size_t i = 0; i < weights.parts.size(); ++i) {
    product(stream_, a.normed, weights.parts[i], out.parts[i], a.rows);
  }
}

void Decoder::attend(int64_t layer, const Activations& a) const {
  const nn::LlamaConfig& shape = config();
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_dim)));
  const std::vector<device::Buffer>& qkv = a.qkv.parts;
  const device::Buffer& keys = cache_.keys(layer);
  const device::Buffer& values = cache_.values(layer);
  if (a.rows == 1) {
    kernels::rope_attention_decode(
        stream_, {qkv[0], qkv[1], qkv[2], weights_.rope_table, keys, values, a.mixed, cache_.length(),
                  cache_.capacity(), shape.num_attention_heads, shape.num_key_value_heads, shape.head_dim, scale});
    return;
  }
  kernels::rope_to_cache(
      stream_, {qkv[0], qkv[1], qkv[2], weights_.rope_table, a.rotated, keys, values, a.rows, shape.num_attention_heads,
                shape.num_key_value_heads, shape.head_dim, cache_.length(), cache_.capacity()});
  kernels::attention_decode(stream_, {a.rotated, keys, values, a.mixed, a.rows, cache_.length(), cache_.capacity(),
                                      shape.num_attention_heads, shape.num_key_value_heads, shape.head_dim, scale});
}

void Decoder::feed_forward(const DecoderBlock& block, Activations& a) const {
  project(block.gate_up, a, a.gate_up);
  const device::Buffer& gate = a.gate_up.parts[0];
  const device::Buffer& up = a.gate_up.parts[1];
  const Weight& down = block.down_proj;
  if (makes_hidden_itself(down)) {
    kernels::matmul_swiglu_a(stream_, {gate, up, down.values, a.update, a.rows, down.outputs, down.inputs,
                                       down.format == WeightFormat::F16 ? DType::F16 : DType::F32});
    return;
  }
  kernels::silu_gate(stream_, {gate, up, a.hidden, a.rows * down.inputs});
  product(stream_, a.hidden, down, a.update, a.rows);
}

void Decoder::add_and_norm(const device::Buffer& weight, Activations& a) const {
  kernels::rms_norm_residual(stream_, {a.update, a.streams[0], weight, a.streams[1], a.normed, a.rows,
                                       config().hidden_size, eps_of(config())});
  std::swap(a.streams[0], a.streams[1]);
}

void Decoder::run_head(const Activations& a) {
  if (joins(a)) {
    return product_of_row(stream_, MatVecOperand::RmsNorm, a.streams[0], weights_.norm, weights_.head, logits_,
                          Accumulate::No, eps_of(config()));
  }
  const int64_t bytes = config().hidden_size * 4;
  if (a.rows > 1) stream_.copy(a.normed.slice((a.rows - 1) * bytes, bytes), last_);
  product(stream_, a.rows > 1 ? last_ : a.normed, weights_.head, logits_, 1);
}

}  // namespace athanor::generate
