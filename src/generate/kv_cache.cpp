// Room is made once, for the whole context.
#include "generate/kv_cache.h"

namespace athanor::generate {

KvCache::KvCache(device::Stream& stream, const nn::LlamaConfig& config, int64_t capacity) : capacity_(capacity) {
  check(capacity > 0, "kv_cache: a context of {} tokens was asked for; pass at least 1", capacity);
  check(capacity <= config.max_position_embeddings,
        "kv_cache: a context of {} tokens is longer than the model's {} (max_position_embeddings); pass a shorter one",
        capacity, config.max_position_embeddings);
  const int64_t row_bytes = config.num_key_value_heads * config.head_dim * 4;
  const int64_t bytes = capacity * row_bytes;
  const int64_t most = stream.device().info().max_binding_bytes;
  check(bytes <= most,
        "kv_cache: a context of {} tokens needs {} bytes a layer but {} takes {} in one piece; pass a context of at "
        "most {}",
        capacity, bytes, stream.device().info().name, most, most / row_bytes);
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

}  // namespace athanor::generate
