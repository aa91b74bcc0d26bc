// Picks the next token from logits on the host. The steps and their order are llama.cpp's default chain without its rarer
// samplers: repeat penalty, top-k, top-p, min-p, temperature, draw; so its settings mean the same here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace athanor::generate {

struct SamplerOptions {
  float temperature = 0.8F;     // 0: greedy, the most likely token
  int64_t top_k = 40;           // keep the k most likely; 0: all
  float top_p = 0.95F;          // keep the fewest most likely whose probabilities reach p; 1: all
  float min_p = 0.05F;          // keep those at least this likely relative to the most likely; 0: all
  float repeat_penalty = 1.0F;  // above 1: tokens of the last repeat_last_n become less likely; 1: off
  int64_t repeat_last_n = 64;   // -1: the whole text
  uint64_t seed = 0;
};

/// Throws Error, naming the option, for a value that makes no distribution.
void check_options(const SamplerOptions& options);

/// Throws Error for a logit that is NaN or plus infinity, or when none is above minus infinity.
void check_logits(std::span<const float> logits);

class Sampler {
 public:
  struct Candidate {
    uint32_t token = 0;
    float logit = 0;
    double probability = 0;
  };

  /// Throws Error as check_options does.
  explicit Sampler(const SamplerOptions& options);

  const SamplerOptions& options() const { return options_; }

  /// The tokens that may be drawn, with probabilities that sum to 1; greedy gives one. Valid until the next call.
  /// logits: (V). previous: the text so far, for the repeat penalty. When top-k or top-p chose, the most likely comes first, of
  /// equal ones the lower id; otherwise by id. Throws Error for a logit that is NaN or plus infinity, or when none is above minus
  /// infinity.
  std::span<const Candidate> distribution(std::span<const float> logits, std::span<const uint32_t> previous);

  /// Draws one of distribution(...). The random number is a function of (seed, position) alone, so that the same seed gives the
  /// same text on the same logits.
  uint32_t sample(std::span<const float> logits, std::span<const uint32_t> previous, int64_t position);

 private:
  void fill_candidates(std::span<const float> logits);
  void penalize(std::span<const uint32_t> previous);
  void keep_most_likely(size_t count);
  void keep_top_p();
  void keep_min_p();
  void set_probabilities(double temperature);

  SamplerOptions options_;
  std::vector<Candidate> candidates_;
};

}  // namespace athanor::generate
