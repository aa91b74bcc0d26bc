// Sampling in double precision; only as much is sorted as the options need.
#include "generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/random.h"

namespace athanor::generate {

namespace {

bool is_more_likely(const Sampler::Candidate& a, const Sampler::Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

}  // namespace

void check_options(const SamplerOptions& options) {
  check(std::isfinite(options.temperature) && options.temperature >= 0,
        "sampler: temperature is {}; pass 0 (greedy) or a number above it", options.temperature);
  check(options.top_k >= 0, "sampler: top-k is {}; pass 0 (all) or how many tokens to keep", options.top_k);
  check(options.top_p > 0 && options.top_p <= 1, "sampler: top-p is {}; pass a number above 0 up to 1 (all)",
        options.top_p);
  check(options.min_p >= 0 && options.min_p <= 1, "sampler: min-p is {}; pass a number from 0 (all) to 1",
        options.min_p);
  check(std::isfinite(options.repeat_penalty) && options.repeat_penalty > 0,
        "sampler: repeat-penalty is {}; pass 1 (off) or a number above it", options.repeat_penalty);
  check(options.repeat_last_n >= -1, "sampler: repeat-last-n is {}; pass -1 (the whole text) or a number of tokens",
        options.repeat_last_n);
}

Sampler::Sampler(const SamplerOptions& options) : options_(options) { check_options(options); }

void check_logits(std::span<const float> logits) {
  float largest = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < logits.size(); ++i) {
    check(!std::isnan(logits[i]) && logits[i] < std::numeric_limits<float>::infinity(),
          "sampler: the logit of token {} is {}; the model's weights or the device's numbers are broken (athanor "
          "doctor checks the device)",
          i, logits[i]);
    largest = std::max(largest, logits[i]);
  }
  check(std::isfinite(largest), "sampler: none of {} logits is a number; the model's weights are broken",
        logits.size());
}

void Sampler::fill_candidates(std::span<const float> logits) {
  check_logits(logits);
  candidates_.resize(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) candidates_[i] = {static_cast<uint32_t>(i), logits[i], 0};
}

/// A positive logit is divided and a negative one multiplied, so that a seen token always becomes less likely. Each token is
/// penalized once, however often it was seen. Source: Keskar et al. 2019, arXiv:1909.05858, with llama.cpp's repair of the sign.
void Sampler::penalize(std::span<const uint32_t> previous) {
  if (options_.repeat_penalty == 1.0F) return;
  if (options_.repeat_last_n >= 0) {
    previous = previous.last(std::min(previous.size(), static_cast<size_t>(options_.repeat_last_n)));
  }
  std::vector<uint32_t> seen(previous.begin(), previous.end());
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  for (const uint32_t token : seen) {
    if (token >= candidates_.size()) continue;
    float& logit = candidates_[token].logit;
    logit = logit > 0 ? logit / options_.repeat_penalty : logit * options_.repeat_penalty;
  }
}

void Sampler::keep_most_likely(size_t count) {
  const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(candidates_.begin(), end, candidates_.end(), is_more_likely);
  candidates_.erase(end, candidates_.end());
}

/// Softmax of logit / temperature over the candidates that are left.
void Sampler::set_probabilities(double temperature) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : candidates_) largest = std::max(largest, static_cast<double>(candidate.logit));
  double sum = 0;
  for (Candidate& candidate : candidates_) {
    candidate.probability = std::exp((static_cast<double>(candidate.logit) - largest) / temperature);
    sum += candidate.probability;
  }
  for (Candidate& candidate : candidates_) candidate.probability /= sum;
}

/// Source: Holtzman et al. 2019, arXiv:1904.09751.
void Sampler::keep_top_p() {
  set_probabilities(1.0);
  double sum = 0;
  size_t kept = 0;
  while (kept < candidates_.size() && sum < static_cast<double>(options_.top_p)) sum += candidates_[kept++].probability;
  candidates_.resize(kept);
}

/// Source: Nguyen et al. 2024, arXiv:2407.01082.
void Sampler::keep_min_p() {
  float largest = candidates_.front().logit;
  for (const Candidate& candidate : candidates_) largest = std::max(largest, candidate.logit);
  const double least = static_cast<double>(largest) + std::log(static_cast<double>(options_.min_p));
  std::erase_if(candidates_,
                [least](const Candidate& candidate) { return static_cast<double>(candidate.logit) < least; });
}

std::span<const Sampler::Candidate> Sampler::distribution(std::span<const float> logits,
                                                          std::span<const uint32_t> previous) {
  fill_candidates(logits);
  penalize(previous);
  if (options_.temperature == 0) {
    keep_most_likely(1);
    candidates_.front().probability = 1;
    return candidates_;
  }
  const size_t most = options_.top_k > 0 ? static_cast<size_t>(options_.top_k) : candidates_.size();
  if (most < candidates_.size() || options_.top_p < 1) keep_most_likely(std::min(most, candidates_.size()));
  if (options_.top_p < 1) keep_top_p();
  if (options_.min_p > 0) keep_min_p();
  set_probabilities(static_cast<double>(options_.temperature));
  return candidates_;
}

uint32_t Sampler::sample(std::span<const float> logits, std::span<const uint32_t> previous, int64_t position) {
  distribution(logits, previous);
  if (candidates_.size() == 1) return candidates_.front().token;
  constexpr double kUnit = 0x1p-53;
  Random random(options_.seed, RandomStream::Sampling, static_cast<uint64_t>(position));
  double left = static_cast<double>(random.next_u64() >> 11) * kUnit;
  for (const Candidate& candidate : candidates_) {
    left -= candidate.probability;
    if (left < 0) return candidate.token;
  }
  // Rounding may leave a rest: the last token that can be drawn takes it.
  const auto possible = [](const Candidate& candidate) { return candidate.probability > 0; };
  return std::find_if(candidates_.rbegin(), candidates_.rend(), possible)->token;
}

}  // namespace athanor::generate
