// The forward pass of generation: new tokens of one text behind those that a key/value cache holds. It keeps nothing for a gradient, so it
// has buffers of its own that are the same for every token, and joins the products that read one input.
#pragma once

#include <span>

#include "generate/decoder_weights.h"
#include "generate/kv_cache.h"

namespace athanor::generate {

class Decoder {
 public:
  /// context_length: positions kept, at most the model's max_position_embeddings; 0: all of those. Throws Error for more.
  Decoder(device::Stream& stream, DecoderWeights weights, int64_t context_length = 0);

  const nn::LlamaConfig& config() const { return weights_.config; }
  const DecoderWeights& weights() const { return weights_; }
  const KvCache& cache() const { return cache_; }
  /// Forgets what is behind the first `length` positions.
  void truncate(int64_t length) { cache_.truncate(length); }

  /// Counts positions up to here as filled without filling them: for dry runs and benchmarks, which look at no value.
  void skip_to(int64_t length) { cache_.advance(length - cache_.length()); }

  /// Rows of a prompt that go through the model at once: enough to fill a GPU's matrix products, few enough that their activations stay
  /// small beside the weights.
  static constexpr int64_t kPromptChunk = 512;

  enum class Logits { No, OfTheLast };
  /// Records the tokens' way through the model. Throws Error for an id that is not below the vocabulary, or more tokens than the cache has
  /// room for.
  void feed(std::span<const uint32_t> ids, Logits wanted);
  /// One token that a kernel wrote: (1) u32.
  void feed_one(const device::Buffer& id);
  /// (V) of the last token that was fed with Logits::OfTheLast.
  const device::Buffer& logits() const { return logits_; }

 private:
  /// What lies between the kernels; made once for one row, and for each piece of a prompt.
  struct Activations {
    Activations(device::Stream& stream, const DecoderWeights& weights, int64_t rows);
    /// Y of a joined product and its parts, or parts of their own.
    struct Parts {
      device::Buffer joined;
      std::vector<device::Buffer> parts;
    };
    int64_t rows;
    device::Buffer streams[2];  // (rows, C): the residual stream before and after an addition, in turn
    device::Buffer normed;      // (rows, C); not used by one row of joined weights
    Parts qkv;
    device::Buffer rotated;  // (rows, H*D); empty for one row
    device::Buffer mixed;    // (rows, H*D)
    device::Buffer update;   // (rows, C)
    Parts gate_up;
    device::Buffer hidden;  // (rows, F); empty where the down projection makes it itself
  };

  /// What was fed is in the cache afterwards.
  void run(const device::Buffer& ids, Activations& a);
  /// Any rows and weights: a kernel for each step.
  void run_blocks(Activations& a) const;
  /// One row and joined weights: norms, gate and additions are part of the products.
  void run_blocks_of_row() const;
  /// Rotates q and k, puts k and v into the cache, and mixes values.
  void attend(int64_t layer, const Activations& a) const;
  void feed_forward(const DecoderBlock& block, Activations& a) const;
  void project(const JoinedWeights& weights, const Activations& a, const Activations::Parts& out) const;
  /// The residual stream with what was added to it, and its norm.
  void add_and_norm(const device::Buffer& weight, Activations& a) const;
  void run_head(const Activations& a);
  bool joins(const Activations& a) const { return static_cast<bool>(a.qkv.joined); }

  device::Stream& stream_;
  DecoderWeights weights_;
  KvCache cache_;
  Activations one_;
  device::Buffer logits_;
  device::Buffer last_;  // (C): the last row of a piece of a prompt, where the head reads it
};

}  // namespace athanor::generate
