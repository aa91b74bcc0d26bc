// sample as plain loops in double over a sorted row, and the options it is tried with.
#include "kernels/sample/sample_reference.h"

#include "base/random.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace athanor::kernels {

namespace {

std::vector<double> penalised(const Sample& args, std::span<const float> logits, std::span<const uint32_t> previous) {
  std::vector<double> values(logits.begin(), logits.end());
  for (const uint32_t token : previous) {
    if (token >= values.size()) continue;
    const double logit = logits[token];
    values[token] = logit > 0 ? logit / args.repeat_penalty : logit * args.repeat_penalty;
  }
  return values;
}

/// e^((logit - largest) / temperature) of each token, in their order.
std::vector<double> weights_of(const std::vector<double>& logits, const std::vector<uint32_t>& tokens, double largest,
                               double temperature) {
  std::vector<double> weights;
  for (const uint32_t token : tokens) weights.push_back(std::exp((logits[token] - largest) / temperature));
  return weights;
}

/// A token that rounding might keep or leave out, and by how much it is not so.
struct Doubt {
  uint32_t token;
  double distance;
};

void keep_top_p(const Sample& args, const std::vector<double>& logits, std::vector<uint32_t>& tokens,
                std::vector<Doubt>& doubts) {
  const std::vector<double> weights = weights_of(logits, tokens, logits[tokens[0]], 1);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double top_p = args.top_p;
  double sum = 0;
  double before = 0;
  size_t kept = 0;
  while (kept < tokens.size() && sum < top_p) {
    before = sum;
    sum += weights[kept++] / total;
  }
  if (kept > 1) doubts.push_back({tokens[kept - 1], top_p - before});
  if (kept < tokens.size()) doubts.push_back({tokens[kept], sum - top_p});
  tokens.resize(kept);
}

void keep_min_p(const Sample& args, const std::vector<double>& logits, double largest, std::vector<uint32_t>& tokens,
                std::vector<Doubt>& doubts) {
  const double least = largest + std::log(static_cast<double>(args.min_p));
  for (const uint32_t token : tokens) {
    if (logits[token] < largest) doubts.push_back({token, std::abs(logits[token] - least)});
  }
  std::erase_if(tokens, [&](uint32_t token) { return logits[token] < least; });
}

/// The draw among `tokens`, and its margin.
ReferenceDraw draw_reference(const Sample& args, const std::vector<double>& logits, double largest,
                             const std::vector<uint32_t>& tokens, const std::vector<Doubt>& doubts, int64_t row) {
  const std::vector<double> weights = weights_of(logits, tokens, largest, args.temperature);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  Random random(args.seed, RandomStream::Sampling, static_cast<uint64_t>(args.position),
                args.first_row + static_cast<uint32_t>(row));
  const double number = static_cast<double>(random.next_u64() >> 11) * 0x1p-53;
  ReferenceDraw draw;
  double sum = 0;
  for (size_t i = 0; i < tokens.size() && sum <= number; ++i) {
    const double through = sum + weights[i] / total;
    if (weights[i] > 0) draw.token = tokens[i];
    draw.margin = std::min(i > 0 ? number - sum : 1, i + 1 < tokens.size() ? through - number : 1);
    sum = through;
  }
  // A token more or less moves the others by its own part.
  const double distance = draw.margin;
  for (const Doubt& doubt : doubts) {
    const double part = std::exp((logits[doubt.token] - largest) / args.temperature) / total;
    draw.margin = std::min(draw.margin, std::max(doubt.distance, distance - part));
  }
  return draw;
}

}  // namespace

ReferenceDraw sample_reference(const Sample& args, std::span<const float> logits, std::span<const uint32_t> previous,
                               int64_t row) {
  const std::vector<double> values = penalised(args, logits, previous);
  std::vector<uint32_t> tokens(values.size());
  std::iota(tokens.begin(), tokens.end(), 0U);
  std::vector<uint32_t> sorted = tokens;
  std::stable_sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) { return values[a] > values[b]; });
  const double largest = values[sorted[0]];
  const size_t most = args.top_k > 0 ? std::min(static_cast<size_t>(args.top_k), sorted.size()) : sorted.size();

  // A penalised logit is rounded, so it may change places with a neighbour.
  const size_t last = args.temperature == 0 ? 0 : most - 1;
  double swap_margin = 1;
  if (args.repeat_penalty != 1 && last + 1 < sorted.size()) {
    swap_margin = values[sorted[last]] - values[sorted[last + 1]];
  }
  if (args.temperature == 0) return {sorted[0], swap_margin};

  std::vector<Doubt> doubts;
  if (most < sorted.size() || args.top_p < 1) {
    tokens = sorted;
    tokens.resize(most);
    if (args.top_p < 1) keep_top_p(args, values, tokens, doubts);
  }
  if (args.min_p > 0) keep_min_p(args, values, largest, tokens, doubts);
  ReferenceDraw draw = draw_reference(args, values, largest, tokens, doubts, row);
  draw.margin = std::min(draw.margin, swap_margin);
  return draw;
}

namespace {

struct Trial {
  const char* name;
  int64_t rows;
  int64_t vocabulary;
  int64_t previous_length;
  bool in_doctor;
  float scale;  // of the logits
  float temperature;
  int64_t top_k;
  float top_p;
  float min_p;
  float repeat_penalty;
};

constexpr float kBand = -1;  // as scale: 1, with a band of larger logits

// Each filter alone and all together, with few tokens and real vocabularies; scale 0 makes all logits equal, scale 1e4 one of them certain.
const std::vector<Trial> kTrials = {
    {"one token", 1, 1, 0, false, 1, 0.8F, 40, 0.95F, 0.05F, 1},
    {"the default options", 5, 343, 0, false, 3, 0.8F, 40, 0.95F, 0.05F, 1},
    {"the default options and a penalty", 9, 257, 20, true, 3, 0.8F, 40, 0.95F, 0.05F, 1.3F},
    {"no filter", 63, 65, 0, false, 2, 1, 0, 1, 0, 1},
    {"no filter, equal logits", 5, 4096, 0, false, 0, 1, 0, 1, 0, 1},
    {"top-k", 257, 63, 0, false, 2, 1.5F, 7, 1, 0, 1},
    {"top-k of all", 3, 64, 0, false, 2, 0.7F, 64, 1, 0, 1},
    {"top-p", 9, 64, 0, true, 2, 1, 0, 0.9F, 0, 1},
    {"top-p of almost nothing", 5, 63, 0, false, 2, 1, 0, 1e-12F, 0, 1},
    {"min-p", 65, 320, 0, false, 2, 2, 0, 1, 0.1F, 1},
    {"greedy", 9, 2006, 0, true, 3, 0, 40, 0.95F, 0.05F, 1},
    {"greedy, equal logits", 3, 2008, 0, false, 0, 0, 0, 1, 0, 1},
    {"greedy with a penalty", 9, 343, 300, false, 3, 0, 0, 1, 0, 2},
    {"logits of 1e4", 17, 257, 0, false, 1e4F, 0.8F, 0, 0.95F, 0, 1},
    {"a small temperature", 17, 256, 0, false, 3, 1e-3F, 0, 1, 0, 1},
    {"a list longer than workgroup memory", 3, 4099, 0, false, 0.5F, 1, 3000, 0.9F, 0, 1},
    {"the default options", 9, 2006, 64, false, 3, 0.8F, 40, 0.95F, 0.05F, 1.1F},
    {"the default options", 3, 128256, 64, false, 3, 0.8F, 40, 0.95F, 0.05F, 1.1F},
    {"no filter", 2, 128256, 0, false, 4, 0.7F, 0, 1, 0, 1},
    {"top-p", 3, 128256, 0, false, 3, 1, 0, 0.95F, 0, 1},
    {"top-p and min-p", 1, 128255, 0, false, 3, 1, 0, 0.99F, 0.001F, 1},
    {"the likely ones in a band", 1, 307200, 0, false, kBand, 0.8F, 40, 0.95F, 0.05F, 1},
};

/// A band stands where one thread of the WebGPU kernel reads: it alone has more likely tokens than its list takes.
std::vector<float> make_logits(const Trial& trial) {
  std::vector<float> logits = test_values(trial.rows * trial.vocabulary, 1, std::abs(trial.scale));
  for (size_t i = 0; trial.scale == kBand && i < logits.size(); ++i) {
    if (i / 4 % 256 == 5) logits[i] += 20;
  }
  return logits;
}

Sample make_args(const Trial& trial) {
  Sample args;
  args.rows = trial.rows;
  args.vocabulary = trial.vocabulary;
  args.previous_length = trial.previous_length;
  args.temperature = trial.temperature;
  args.top_k = trial.top_k;
  args.top_p = trial.top_p;
  args.min_p = trial.min_p;
  args.repeat_penalty = trial.repeat_penalty;
  args.seed = 0x123456789abcdefULL;
  args.position = 0x100000007LL;
  args.first_row = 3;
  return args;
}

/// Tokens as they may have been seen: the likely ones among them, some twice, and places that hold none.
std::vector<uint32_t> make_previous(const Trial& trial, std::span<const float> logits) {
  Random random(8, RandomStream::Test, 3);
  std::vector<uint32_t> previous;
  for (int64_t i = 0; i < trial.rows * trial.previous_length; ++i) {
    const auto row = logits.subspan(static_cast<size_t>(i / trial.previous_length * trial.vocabulary),
                                    static_cast<size_t>(trial.vocabulary));
    const auto likely = static_cast<uint32_t>(std::max_element(row.begin(), row.end()) - row.begin());
    const auto any = static_cast<uint32_t>(random.below(static_cast<uint64_t>(trial.vocabulary)));
    previous.push_back(i % 7 == 0 ? likely : (i % 7 == 1 ? 0xffffffffU : any));
  }
  return previous;
}

/// A token that differs is an error as large as the margin by which it must not differ.
CaseResult run_sample(device::Stream& stream, const Trial& trial) {
  const std::vector<float> logits = make_logits(trial);
  const std::vector<uint32_t> previous = make_previous(trial, logits);
  Sample args = make_args(trial);
  args.logits = upload_values(stream, logits);
  if (!previous.empty()) args.previous = upload_values(stream, previous);
  args.tokens = poisoned(stream, trial.rows);
  sample(stream, args);
  std::vector<uint32_t> tokens(static_cast<size_t>(trial.rows));
  stream.download(args.tokens, std::as_writable_bytes(std::span(tokens)));
  CaseResult result;
  result.allowed_error = allowed_f32(trial.vocabulary);
  for (int64_t row = 0; row < trial.rows; ++row) {
    const auto of_row = [row](const auto& values, int64_t length) {
      return std::span(values).subspan(static_cast<size_t>(row * length), static_cast<size_t>(length));
    };
    const ReferenceDraw want =
        sample_reference(args, of_row(logits, trial.vocabulary), of_row(previous, trial.previous_length), row);
    const double error = tokens[row] == want.token ? 0 : want.margin;
    if (error > result.largest_error) {
      result.largest_error = error;
      result.where = fmt::format("tokens[{}]: {} instead of {}", row, tokens[row], want.token);
    }
  }
  return result;
}

}  // namespace

std::vector<KernelCase> sample_cases() {
  std::vector<KernelCase> cases;
  for (const Trial& trial : kTrials) {
    cases.push_back({fmt::format("rows {}, vocabulary {}, {}", trial.rows, trial.vocabulary, trial.name),
                     trial.in_doctor, [trial](device::Stream& stream) { return run_sample(stream, trial); }});
  }
  return cases;
}

}  // namespace athanor::kernels
