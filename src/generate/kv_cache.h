// Keys and values of one sequence, kept on the device while it grows: each layer holds one buffer of each, made once.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/llama.h"

namespace athanor::generate {

class KvCache {
 public:
  /// Room for `capacity` positions. Throws Error when that is more than the model's context, or a layer's share does not fit one
  /// binding of the device.
  KvCache(device::Stream& stream, const nn::LlamaConfig& config, int64_t capacity);

  int64_t capacity() const { return capacity_; }
  /// Positions that are filled: new rows go behind them.
  int64_t length() const { return length_; }
  /// Forgets what is behind the first `length` positions.
  void truncate(int64_t length);
  /// Counts `rows` positions as filled, after every layer has written them.
  void advance(int64_t rows);
  int64_t size_bytes() const;

  /// For Llama::hidden: writes the new rows' keys and values behind length() and attends to all that is kept. One sequence; the
  /// cache must outlive the function. Throws Error when the rows do not fit. The caller advances when all layers are through.
  nn::AttentionFunction attention();

 private:
  tensor::Tensor attend(const tensor::Context& context, int64_t layer, const tensor::Tensor& q, const tensor::Tensor& k,
                        const tensor::Tensor& v) const;

  struct Layer {
    device::Buffer k;  // (capacity, Hkv*D)
    device::Buffer v;  // (capacity, Hkv*D)
  };

  int64_t capacity_ = 0;
  int64_t length_ = 0;
  int64_t heads_ = 0;
  int64_t kv_heads_ = 0;
  int64_t head_dim_ = 0;
  std::vector<Layer> layers_;
};

}  // namespace athanor::generate
