// Rows are appended by copies, since a kernel could bind a row only where it starts at a multiple of 256 bytes.
#include "generate/kv_cache.h"

#include <cmath>

#include "kernels/attention_decode/attention_decode.h"

namespace athanor::generate {

KvCache::KvCache(device::Stream& stream, const nn::LlamaConfig& config, int64_t capacity)
    : capacity_(capacity),
      heads_(config.num_attention_heads),
      kv_heads_(config.num_key_value_heads),
      head_dim_(config.head_dim) {
  check(capacity > 0, "kv_cache: a context of {} tokens was asked for; pass at least 1", capacity);
  check(capacity <= config.max_position_embeddings,
        "kv_cache: a context of {} tokens is longer than the model's {} (max_position_embeddings); pass a shorter one",
        capacity, config.max_position_embeddings);
  const int64_t bytes = capacity * kv_heads_ * head_dim_ * 4;
  const int64_t most = stream.device().info().max_binding_bytes;
  check(bytes <= most,
        "kv_cache: a context of {} tokens needs {} bytes a layer but {} takes {} in one piece; pass a context of at "
        "most {}",
        capacity, bytes, stream.device().info().name, most, most / (kv_heads_ * head_dim_ * 4));
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    layers_.push_back({stream.device().allocate(bytes, "key cache"), stream.device().allocate(bytes, "value cache")});
    // A kernel may read a tile beyond the last filled row and mask it afterwards; what was in the pool could be NaN.
    stream.fill_zero(layers_.back().k);
    stream.fill_zero(layers_.back().v);
  }
}

void KvCache::truncate(int64_t length) {
  check(length >= 0 && length <= length_, "kv_cache: cannot be cut to {} positions, it holds {}", length, length_);
  length_ = length;
}

void KvCache::advance(int64_t rows) {
  check(rows >= 0 && rows <= capacity_ - length_, "kv_cache: {} more positions do not fit behind {} of {}", rows,
        length_, capacity_);
  length_ += rows;
}

int64_t KvCache::size_bytes() const {
  int64_t bytes = 0;
  for (const Layer& layer : layers_) bytes += layer.k.size_bytes() + layer.v.size_bytes();
  return bytes;
}

nn::AttentionFunction KvCache::attention() {
  return [this](const tensor::Context& context, int64_t layer, const tensor::Tensor& q, const tensor::Tensor& k,
                const tensor::Tensor& v) { return attend(context, layer, q, k, v); };
}

tensor::Tensor KvCache::attend(const tensor::Context& context, int64_t layer, const tensor::Tensor& q,
                               const tensor::Tensor& k, const tensor::Tensor& v) const {
  const int64_t rows = q.shape().num_rows();
  const int64_t row_bytes = kv_heads_ * head_dim_ * 4;
  check(rows <= capacity_ - length_, "kv_cache: {} new tokens do not fit behind {} in a context of {}", rows, length_,
        capacity_);
  const Layer& kept = layers_[static_cast<size_t>(layer)];
  context.stream.copy(k.buffer(), kept.k.slice(length_ * row_bytes, rows * row_bytes));
  context.stream.copy(v.buffer(), kept.v.slice(length_ * row_bytes, rows * row_bytes));

  tensor::Tensor out = tensor::empty(context.stream, q.shape(), "attention of new tokens");
  kernels::AttentionDecode args;
  args.q = q.buffer();
  args.k_cache = kept.k;
  args.v_cache = kept.v;
  args.out = out.buffer();
  args.rows = rows;
  args.position = length_;
  args.capacity = capacity_;
  args.heads = heads_;
  args.kv_heads = kv_heads_;
  args.head_dim = head_dim_;
  args.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim_)));
  kernels::attention_decode(context.stream, args);
  return out;
}

}  // namespace athanor::generate
