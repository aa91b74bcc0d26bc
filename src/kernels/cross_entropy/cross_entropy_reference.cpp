// cross_entropy as plain loops in double, and the sizes it is tried at.
#include "kernels/cross_entropy/cross_entropy_reference.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "kernels/cross_entropy/cross_entropy.h"

namespace athanor::kernels {

namespace {

// log of the sum of e^x over a row.
double log_sum_exp(const double* row, int64_t count) {
  const double largest = *std::max_element(row, row + count);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::exp(row[i] - largest);
  return largest + std::log(sum);
}

}  // namespace

std::vector<double> cross_entropy_reference(const std::vector<double>& logits, const std::vector<int32_t>& targets,
                                            int64_t vocabulary) {
  std::vector<double> losses(targets.size());
  for (size_t row = 0; row < targets.size(); ++row) {
    if (targets[row] == kIgnoreTarget) continue;
    const double* x = logits.data() + static_cast<int64_t>(row) * vocabulary;
    losses[row] = log_sum_exp(x, vocabulary) - x[targets[row]];
  }
  return losses;
}

std::vector<double> cross_entropy_backward_reference(const std::vector<double>& logits,
                                                     const std::vector<int32_t>& targets, int64_t vocabulary,
                                                     double scale) {
  std::vector<double> d_logits(logits.size());
  for (size_t row = 0; row < targets.size(); ++row) {
    if (targets[row] == kIgnoreTarget) continue;
    const int64_t start = static_cast<int64_t>(row) * vocabulary;
    const double whole = log_sum_exp(logits.data() + start, vocabulary);
    for (int64_t v = 0; v < vocabulary; ++v) {
      const double probability = std::exp(logits[static_cast<size_t>(start + v)] - whole);
      d_logits[static_cast<size_t>(start + v)] = (probability - (v == targets[row] ? 1 : 0)) * scale;
    }
  }
  return d_logits;
}

namespace {

constexpr float kScale = 0.0625F;

struct Sizes {
  int64_t rows;
  int64_t vocabulary;
  float logit_scale;
  double ignored;  // share of rows left out
  bool in_doctor;
};

// Vocabularies below and above a workgroup and its four-wide variant, real ones up to the largest, logits of 1e4, targets left out,
// and more rows than one dimension of a grid takes anywhere.
const std::vector<Sizes> kSizes = {
    {3, 1, 3, 0, false},        {5, 3, 3, 0.3, true},     {1, 5, 3, 0, false},        {63, 63, 3, 0.3, true},
    {65, 65, 3, 0.3, false},    {7, 257, 3, 0, false},    {5, 260, 3, 0.3, true},     {343, 2006, 3, 0.1, false},
    {17, 2006, 1e4F, 0, false}, {9, 64, 1e4F, 0.3, true}, {257, 2048, 3, 0.1, false}, {3, 128256, 3, 0.3, false},
    {2, 262144, 3, 0, false},   {65, 63, 3, 1, false},    {5, 64, 3, 1, true},        {66000, 5, 3, 0.1, false}};

struct Input {
  std::vector<float> logits;
  std::vector<int32_t> targets;
};

Input make_input(const Sizes& sizes) {
  Input input{test_values(sizes.rows * sizes.vocabulary, 1, sizes.logit_scale), {}};
  Random random(2, RandomStream::Test);
  for (int64_t row = 0; row < sizes.rows; ++row) {
    const auto target = static_cast<int32_t>(random.below(static_cast<uint64_t>(sizes.vocabulary)));
    input.targets.push_back(random.uniform() < sizes.ignored ? kIgnoreTarget : target);
  }
  return input;
}

device::Buffer upload_targets(device::Stream& stream, const std::vector<int32_t>& targets) {
  return upload_values(stream, std::span(reinterpret_cast<const uint32_t*>(targets.data()), targets.size()));
}

CaseResult run_loss(device::Stream& stream, const Sizes& sizes) {
  const Input input = make_input(sizes);
  const CrossEntropy args{upload_values(stream, input.logits), upload_targets(stream, input.targets),
                          poisoned(stream, sizes.rows), sizes.rows, sizes.vocabulary};
  cross_entropy(stream, args);
  CaseResult result;
  compare(result, "losses", download_values(stream, args.losses),
          cross_entropy_reference(to_double(input.logits), input.targets, sizes.vocabulary),
          allowed_f32(sizes.vocabulary));
  return result;
}

CaseResult run_backward(device::Stream& stream, const Sizes& sizes) {
  const Input input = make_input(sizes);
  const CrossEntropyBackward args{upload_values(stream, input.logits),
                                  upload_targets(stream, input.targets),
                                  poisoned(stream, sizes.rows * sizes.vocabulary),
                                  kScale,
                                  sizes.rows,
                                  sizes.vocabulary};
  cross_entropy_backward(stream, args);
  CaseResult result;
  compare(result, "d_logits", download_values(stream, args.d_logits),
          cross_entropy_backward_reference(to_double(input.logits), input.targets, sizes.vocabulary, kScale),
          allowed_f32(sizes.vocabulary));
  return result;
}

CaseResult run_in_place(device::Stream& stream, const Sizes& sizes) {
  const Input input = make_input(sizes);
  const CrossEntropyFused args{upload_values(stream, input.logits),
                               upload_targets(stream, input.targets),
                               poisoned(stream, sizes.rows),
                               kScale,
                               sizes.rows,
                               sizes.vocabulary};
  cross_entropy_in_place(stream, args);
  CaseResult result;
  compare(result, "losses", download_values(stream, args.losses),
          cross_entropy_reference(to_double(input.logits), input.targets, sizes.vocabulary),
          allowed_f32(sizes.vocabulary));
  compare(result, "d_logits", download_values(stream, args.logits_to_gradient),
          cross_entropy_backward_reference(to_double(input.logits), input.targets, sizes.vocabulary, kScale),
          allowed_f32(sizes.vocabulary));
  return result;
}

std::vector<KernelCase> cases_of(CaseResult (*run)(device::Stream&, const Sizes&)) {
  std::vector<KernelCase> cases;
  for (const Sizes& sizes : kSizes) {
    cases.push_back({fmt::format("rows {}, vocabulary {}, logits of {}, {} left out", sizes.rows, sizes.vocabulary,
                                 sizes.logit_scale, sizes.ignored),
                     sizes.in_doctor, [run, sizes](device::Stream& stream) { return run(stream, sizes); }});
  }
  return cases;
}

}  // namespace

std::vector<KernelCase> cross_entropy_cases() { return cases_of(run_loss); }
std::vector<KernelCase> cross_entropy_backward_cases() { return cases_of(run_backward); }
std::vector<KernelCase> cross_entropy_in_place_cases() { return cases_of(run_in_place); }

}  // namespace athanor::kernels
