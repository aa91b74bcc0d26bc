// sample for the CPU device, in double: the rows are shared among the workers, and only as much is sorted as the options need.
#include "base/random.h"
#include "kernels/sample/sample_internal.h"

#include <cmath>
#include <limits>
#include <vector>

namespace athanor::kernels {

using device::cpu::data;

namespace {

struct Candidate {
  uint32_t token = 0;
  float logit = 0;
  double weight = 0;
};

bool is_more_likely(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

/// Source: Keskar et al. 2019, arXiv:1909.05858, with llama.cpp's repair of the sign. From the logit itself, so that a token that stands
/// twice is penalised once.
void penalise(std::vector<Candidate>& candidates, const float* logits, const uint32_t* previous, const Sample& args) {
  for (int64_t i = 0; i < args.previous_length; ++i) {
    if (previous[i] >= candidates.size()) continue;
    const float logit = logits[previous[i]];
    candidates[previous[i]].logit = logit > 0 ? logit / args.repeat_penalty : logit * args.repeat_penalty;
  }
}

/// The `count` most likely, in order.
void keep_most_likely(std::vector<Candidate>& candidates, int64_t count) {
  const auto end = candidates.begin() + count;
  if (end != candidates.end()) std::nth_element(candidates.begin(), end - 1, candidates.end(), is_more_likely);
  candidates.erase(end, candidates.end());
  std::sort(candidates.begin(), candidates.end(), is_more_likely);
}

/// Weights e^((logit - largest) / temperature); returns their sum.
double set_weights(std::vector<Candidate>& candidates, double largest, double temperature) {
  double sum = 0;
  for (Candidate& candidate : candidates) {
    candidate.weight = std::exp((static_cast<double>(candidate.logit) - largest) / temperature);
    sum += candidate.weight;
  }
  return sum;
}

/// Source: Holtzman et al. 2019, arXiv:1904.09751.
void keep_top_p(std::vector<Candidate>& candidates, double top_p) {
  const double sum = set_weights(candidates, candidates.front().logit, 1);
  double reached = 0;
  size_t kept = 0;
  while (kept < candidates.size() && reached < top_p * sum) reached += candidates[kept++].weight;
  candidates.resize(kept);
}

/// Source: Nguyen et al. 2024, arXiv:2407.01082.
void keep_min_p(std::vector<Candidate>& candidates, double largest, double min_p) {
  const double least = largest + std::log(min_p);
  std::erase_if(candidates, [least](const Candidate& candidate) { return candidate.logit < least; });
}

uint32_t draw(std::vector<Candidate>& candidates, double largest, const Sample& args, int64_t row) {
  const double sum = set_weights(candidates, largest, args.temperature);
  Random random(args.seed, RandomStream::Sampling, static_cast<uint64_t>(args.position),
                args.first_row + static_cast<uint32_t>(row));
  double left = static_cast<double>(random.next_u64() >> 11) * 0x1p-53 * sum;
  uint32_t last = candidates.front().token;  // rounding may leave a rest: the last that can be drawn takes it
  for (const Candidate& candidate : candidates) {
    if (candidate.weight > 0) last = candidate.token;
    left -= candidate.weight;
    if (left < 0) break;
  }
  return last;
}

uint32_t sample_row(const float* logits, const uint32_t* previous, const Sample& args, int64_t row,
                    std::vector<Candidate>& candidates) {
  candidates.resize(static_cast<size_t>(args.vocabulary));
  for (size_t i = 0; i < candidates.size(); ++i) candidates[i] = {static_cast<uint32_t>(i), logits[i]};
  if (previous != nullptr) penalise(candidates, logits, previous, args);
  const Candidate best = *std::min_element(candidates.begin(), candidates.end(), is_more_likely);
  if (args.temperature == 0) return best.token;
  const int64_t most = kept_by_top_k(args);
  if (most < args.vocabulary || args.top_p < 1) keep_most_likely(candidates, most);
  if (args.top_p < 1) keep_top_p(candidates, args.top_p);
  if (args.min_p > 0) keep_min_p(candidates, best.logit, args.min_p);
  return draw(candidates, best.logit, args, row);
}

}  // namespace

void sample_cpu(device::cpu::CpuStream& stream, const Sample& args) {
  const float* logits = data<float>(args.logits);
  const uint32_t* previous = has_penalty(args) ? data<uint32_t>(args.previous) : nullptr;
  uint32_t* tokens = data<uint32_t>(args.tokens);
  stream.threads().parallel_for(args.rows, 1, [&](int64_t begin, int64_t end, int) {
    std::vector<Candidate> candidates;
    for (int64_t row = begin; row < end; ++row) {
      const uint32_t* own = previous == nullptr ? nullptr : previous + row * args.previous_length;
      tokens[row] = sample_row(logits + row * args.vocabulary, own, args, row, candidates);
    }
  });
}

}  // namespace athanor::kernels
