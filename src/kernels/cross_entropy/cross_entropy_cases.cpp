// The sizes and terms that cross_entropy is tried at, and what `bench kernels` measures.
#include "base/random.h"
#include "kernels/bench_values.h"
#include "kernels/cross_entropy/cross_entropy_internal.h"
#include "kernels/cross_entropy/cross_entropy_reference.h"

#include <algorithm>
#include <numeric>

namespace athanor::kernels {

namespace {

constexpr float kScale = 0.0625F;

struct Case {
  int64_t rows;
  int64_t vocabulary;
  float logit_scale;
  double ignored;  // share of rows left out
  bool in_doctor;
  CrossEntropyTerms terms{};
};

// Vocabularies below and above a workgroup, its four-wide variant and what its registers hold; real ones up to the largest, a byte model's
// block of 343 rows with 2,006 entries, logits of 1e4, targets left out, no target at all, more rows than one dimension of a grid takes
// anywhere; then the terms, one by one and together.
const std::vector<Case> kCases = {
    {3, 1, 3, 0, false},
    {5, 3, 3, 0.3, true},
    {1, 5, 3, 0, false},
    {63, 63, 3, 0.3, true},
    {65, 65, 3, 0.3, false},
    {7, 257, 3, 0, false},
    {5, 260, 3, 0.3, true},
    {343, 2006, 3, 0.1, false},
    {17, 2006, 1e4F, 0, false},
    {9, 64, 1e4F, 0.3, true},
    {257, 2048, 3, 0.1, false},
    {3, 2049, 3, 0, false},
    {3, 8192, 3, 0, false},
    {3, 8196, 3, 0, false},
    {3, 128256, 3, 0.3, false},
    {2, 262144, 3, 0, false},
    {65, 63, 3, 1, false},
    {5, 64, 3, 1, true},
    {66000, 5, 3, 0.1, false},
    {9, 257, 3, 0.3, false, {.label_smoothing = 0.1F}},
    {9, 256, 3, 0.3, false, {.label_smoothing = 1}},
    {9, 257, 3, 0.3, false, {.z_loss = 1e-3F}},
    {9, 256, 3, 0.3, false, {.soft_cap = 4}},
    {9, 64, 1e4F, 0.3, true, {.label_smoothing = 0.1F, .z_loss = 1e-4F, .soft_cap = 30}},
    {17, 2006, 1e4F, 0, false, {.label_smoothing = 0.1F, .z_loss = 1e-4F}},
    {7, 63, 3, 0.3, true, {.label_smoothing = 0.1F, .z_loss = 1e-3F, .soft_cap = 4}},
    {5, 8196, 3, 0.3, false, {.label_smoothing = 0.1F, .z_loss = 1e-3F, .soft_cap = 4}},
    {3, 128256, 3, 0, false, {.label_smoothing = 0.1F, .z_loss = 1e-4F, .soft_cap = 30}},
};

struct Input {
  std::vector<float> logits;
  std::vector<int32_t> targets;
};

Input make_input(const Case& one) {
  Input input{test_values(one.rows * one.vocabulary, 1, one.logit_scale), {}};
  Random random(2, RandomStream::Test);
  for (int64_t row = 0; row < one.rows; ++row) {
    const auto target = static_cast<int32_t>(random.below(static_cast<uint64_t>(one.vocabulary)));
    input.targets.push_back(random.uniform() < one.ignored ? kIgnoreTarget : target);
  }
  return input;
}

// Logits under a soft cap are off by a few units of 2^-24 of the cap, which the exponential makes relative.
double allowed(const Case& one) {
  return allowed_f32(one.vocabulary) + static_cast<double>(one.terms.soft_cap) * allowed_f32(1);
}

void compare_losses(CaseResult& result, device::Stream& stream, const Case& one, const Input& input,
                    const device::Buffer& losses) {
  compare(result, "losses", download_values(stream, losses),
          cross_entropy_reference(to_double(input.logits), input.targets, one.vocabulary, one.terms), allowed(one));
}

void compare_gradient(CaseResult& result, device::Stream& stream, const Case& one, const Input& input,
                      const device::Buffer& d_logits) {
  compare(result, "d_logits", download_values(stream, d_logits),
          cross_entropy_backward_reference(to_double(input.logits), input.targets, one.vocabulary, kScale, one.terms),
          allowed(one));
}

// The totals, added to 3 and 7, against the sum of the losses that the device itself found.
constexpr CrossEntropyTotals kBefore{3, 7};

device::Buffer totals_before(device::Stream& stream) {
  device::Buffer totals = stream.device().allocate(sizeof(kBefore), "test totals");
  stream.upload(totals, std::as_bytes(std::span(&kBefore, 1)));
  return totals;
}

void compare_totals(CaseResult& result, device::Stream& stream, const Case& one, const Input& input,
                    const device::Buffer& losses, const device::Buffer& totals) {
  const CrossEntropyTotals got = download_totals(stream, totals);
  const std::vector<double> each = to_double(download_values(stream, losses));
  const double counted = static_cast<double>(std::count_if(input.targets.begin(), input.targets.end(),
                                                           [](int32_t target) { return target != kIgnoreTarget; }));
  compare(result, "totals", std::vector<float>{got.loss_sum},
          std::vector<double>{std::accumulate(each.begin(), each.end(), static_cast<double>(kBefore.loss_sum))},
          allowed_f32(one.rows));
  compare(result, "count", std::vector<float>{static_cast<float>(got.count)},
          std::vector<double>{counted + kBefore.count}, allowed_f32(1));
}

CaseResult run_loss(device::Stream& stream, const Case& one) {
  const Input input = make_input(one);
  const CrossEntropy args{upload_values(stream, input.logits),
                          upload_targets(stream, input.targets),
                          poisoned(stream, one.rows),
                          one.rows,
                          one.vocabulary,
                          one.terms,
                          totals_before(stream),
                          Accumulate::Yes};
  cross_entropy(stream, args);
  CaseResult result;
  compare_losses(result, stream, one, input, args.losses);
  compare_totals(result, stream, one, input, args.losses, args.totals);
  return result;
}

CaseResult run_backward(device::Stream& stream, const Case& one) {
  const Input input = make_input(one);
  const CrossEntropyBackward args{upload_values(stream, input.logits),
                                  upload_targets(stream, input.targets),
                                  poisoned(stream, one.rows * one.vocabulary),
                                  kScale,
                                  one.rows,
                                  one.vocabulary,
                                  one.terms};
  cross_entropy_backward(stream, args);
  CaseResult result;
  compare_gradient(result, stream, one, input, args.d_logits);
  return result;
}

CaseResult run_in_place(device::Stream& stream, const Case& one) {
  const Input input = make_input(one);
  const CrossEntropyFused args{upload_values(stream, input.logits),
                               upload_targets(stream, input.targets),
                               poisoned(stream, one.rows),
                               kScale,
                               one.rows,
                               one.vocabulary,
                               one.terms,
                               totals_before(stream),
                               Accumulate::Yes};
  cross_entropy_in_place(stream, args);
  CaseResult result;
  compare_losses(result, stream, one, input, args.losses);
  compare_gradient(result, stream, one, input, args.logits_to_gradient);
  compare_totals(result, stream, one, input, args.losses, args.totals);
  return result;
}

std::string name_of(const Case& one) {
  std::string name = fmt::format("rows {}, vocabulary {}, logits of {}, {} left out", one.rows, one.vocabulary,
                                 one.logit_scale, one.ignored);
  if (one.terms.label_smoothing > 0) name += fmt::format(", label smoothing {}", one.terms.label_smoothing);
  if (one.terms.z_loss > 0) name += fmt::format(", z-loss {}", one.terms.z_loss);
  if (one.terms.soft_cap > 0) name += fmt::format(", soft cap {}", one.terms.soft_cap);
  return name;
}

std::vector<KernelCase> cases_of(CaseResult (*run)(device::Stream&, const Case&)) {
  std::vector<KernelCase> cases;
  for (const Case& one : kCases) {
    cases.push_back({name_of(one), one.in_doctor, [run, one](device::Stream& stream) { return run(stream, one); }});
  }
  return cases;
}

// Logits of a vocabulary of 32,768 with random targets; the logits have the bytes.
constexpr int64_t kBenchVocabulary = 32768;

CrossEntropy bench_operands(device::Stream& stream, int64_t bytes) {
  const int64_t rows = std::max<int64_t>(1, bytes / (4 * kBenchVocabulary));
  Random random(2, RandomStream::Test);
  std::vector<int32_t> targets;
  for (int64_t row = 0; row < rows; ++row) {
    targets.push_back(static_cast<int32_t>(random.below(kBenchVocabulary)));
  }
  return {bench_values(stream, rows * kBenchVocabulary, 1), upload_targets(stream, targets),
          stream.device().allocate(rows * 4, "bench losses"), rows, kBenchVocabulary};
}

std::string bench_sizes(int64_t rows) { return fmt::format("rows {}, vocabulary {}", rows, kBenchVocabulary); }

}  // namespace

std::vector<KernelCase> cross_entropy_cases() { return cases_of(run_loss); }
std::vector<KernelCase> cross_entropy_backward_cases() { return cases_of(run_backward); }
std::vector<KernelCase> cross_entropy_in_place_cases() { return cases_of(run_in_place); }

KernelBench cross_entropy_bench(device::Stream& stream, int64_t bytes) {
  const CrossEntropy args = bench_operands(stream, bytes);
  return {bench_sizes(args.rows), cross_entropy_cost(args.rows, args.vocabulary),
          [&stream, args] { cross_entropy(stream, args); }};
}

KernelBench cross_entropy_backward_bench(device::Stream& stream, int64_t bytes) {
  const CrossEntropy loss = bench_operands(stream, bytes);
  const CrossEntropyBackward args{
      loss.logits, loss.targets, stream.device().allocate(loss.logits.size_bytes(), "bench d_logits"),
      kScale,      loss.rows,    loss.vocabulary};
  return {bench_sizes(args.rows), cross_entropy_gradient_cost(args.rows, args.vocabulary),
          [&stream, args] { cross_entropy_backward(stream, args); }};
}

// Launched again and again, its logits are the gradients of the launch before: other numbers, the same work.
KernelBench cross_entropy_in_place_bench(device::Stream& stream, int64_t bytes) {
  const CrossEntropy loss = bench_operands(stream, bytes);
  const CrossEntropyFused args{loss.logits, loss.targets, loss.losses, kScale, loss.rows, loss.vocabulary};
  return {bench_sizes(args.rows), cross_entropy_gradient_cost(args.rows, args.vocabulary),
          [&stream, args] { cross_entropy_in_place(stream, args); }};
}

}  // namespace athanor::kernels
