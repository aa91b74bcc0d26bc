// Keys and values of one sequence, kept on the device while it grows: each layer holds one buffer of each, made once.
#pragma once

#include <cstdint>
#include <vector>

#include "device/device.h"
#include "nn/llama_config.h"

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

  /// (capacity, Hkv*D) of a layer: kernels write the new rows behind length().
  const device::Buffer& keys(int64_t layer) const { return layers_[static_cast<size_t>(layer)].k; }
  const device::Buffer& values(int64_t layer) const { return layers_[static_cast<size_t>(layer)].v; }

 private:
  struct Layer {
    device::Buffer k;  // (capacity, Hkv*D)
    device::Buffer v;  // (capacity, Hkv*D)
  };

  int64_t capacity_ = 0;
  int64_t length_ = 0;
  std::vector<Layer> layers_;
};

}  // namespace athanor::generate
