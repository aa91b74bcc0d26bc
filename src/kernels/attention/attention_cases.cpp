// The sizes and rules that attention is tried at, and what `bench kernels` measures.
#include "kernels/attention/attention.h"
#include "kernels/attention/attention_internal.h"
#include "kernels/attention/attention_reference.h"
#include "kernels/bench_values.h"

#include <algorithm>
#include <cmath>

namespace athanor::kernels {

namespace {

struct Case {
  AttentionSizes sizes;
  AttentionRule rule;  // scale is 1 / sqrt(D)
  bool in_doctor = false;
  float magnitude = 1;
  MatMulPrecision precision = MatMulPrecision::Highest;
  float v_magnitude = 1;  // of v, and the inverse of d_out's, which f16 must be spared
};

// A batch entry of documents that start and end within tiles of 32 and at their edges, some of one token; the last `padding` rows see no
// key.
std::vector<uint32_t> documents(int64_t length, int64_t padding = 0) {
  std::vector<int64_t> lengths;
  int64_t left = length - padding;
  for (const int64_t wanted : {1, 1, 30, 32, 7, 1, 57, 64, 3}) {
    lengths.push_back(std::min(wanted, left));
    left -= lengths.back();
  }
  lengths.push_back(left);
  std::vector<uint32_t> first_keys = first_keys_of(lengths);
  first_keys.resize(static_cast<size_t>(length), static_cast<uint32_t>(length));
  return first_keys;
}

std::vector<uint32_t> twice(std::vector<uint32_t> first_keys) {
  const std::vector<uint32_t> once = first_keys;
  first_keys.insert(first_keys.end(), once.begin(), once.end());
  return first_keys;
}

// What the matrix units take: lengths around their tiles of 64 rows and 32 columns, groups of heads, widths up to 64; scores that grow late
// in a row, so that the result is scaled anew; window, documents and padding; values that f16 cannot hold.
void add_rounded_cases(std::vector<Case>& cases) {
  constexpr MatMulPrecision kMedium = MatMulPrecision::Medium;
  cases.push_back({{2, 97, 4, 2, 64}, {}, true, 1, kMedium});
  cases.push_back({{1, 1, 2, 1, 64}, {}, false, 1, kMedium});
  cases.push_back({{1, 64, 2, 2, 32}, {}, false, 1, kMedium});
  cases.push_back({{2, 257, 3, 1, 48}, {}, false, 1, kMedium});
  cases.push_back({{1, 200, 2, 1, 64}, {}, true, 3, kMedium, 1e5F});
  cases.push_back({{1, 129, 2, 1, 20}, {}, false, 1, kMedium, 1e-8F});
  cases.push_back({{1, 343, 2, 1, 64}, {.window = 65}, false, 1, kMedium});
  cases.push_back({{2, 257, 2, 1, 64}, {.first_key = twice(documents(257, 35))}, false, 1, kMedium});
  cases.push_back({{1, 197, 4, 2, 64}, {.window = 33, .first_key = documents(197, 70)}, true, 1, kMedium});
  // Not theirs: a soft cap, wide heads.
  cases.push_back({{1, 65, 2, 1, 64}, {.soft_cap = 3}, false, 1, kMedium});
  cases.push_back({{1, 65, 2, 1, 128}, {}, false, 1, kMedium});
}

// Lengths around a tile of 32 and of 64, groups of 1, 2, 4 and 8 heads, widths divisible by four and not, up to 256; then windows around
// a tile, documents, caps, and all of them together. doctor's have two widths' pipelines, as a software adapter compiles long.
std::vector<Case> all_cases() {
  std::vector<Case> cases = {
      {{1, 1, 1, 1, 1}, {}},
      {{2, 3, 2, 1, 2}, {}, true},
      {{1, 5, 4, 4, 4}, {}},
      {{3, 33, 4, 1, 6}, {}},
      {{1, 63, 8, 1, 32}, {}},
      {{2, 65, 2, 1, 64}, {}},
      {{1, 65, 3, 3, 65}, {}},
      {{1, 257, 2, 2, 32}, {}},
      {{1, 63, 2, 1, 128}, {}},
      {{1, 129, 2, 1, 256}, {}},
      {{2, 256, 4, 2, 64}, {}},
      {{1, 33, 2, 1, 80}, {}},
      {{1, 65, 2, 1, 64}, {}, true, 60.0F},
  };
  for (const int64_t window : {1, 31, 32, 33, 65, 257}) {
    cases.push_back({{1, window + 40, 2, 1, 32}, {.window = window}});
  }
  cases.push_back({{1, 343, 1, 1, 63}, {.window = 65}});
  cases.push_back({{2, 70, 2, 1, 32}, {.first_key = twice(documents(70))}});
  cases.push_back({{1, 257, 2, 1, 80}, {.first_key = documents(257)}});
  cases.push_back({{1, 64, 2, 1, 63}, {.first_key = std::vector<uint32_t>(64, 64)}});
  cases.push_back({{1, 65, 2, 2, 32}, {.soft_cap = 2}, false, 2.0F});
  cases.push_back({{1, 65, 2, 1, 32}, {.soft_cap = 30}, false, 60.0F});
  for (const int64_t width : {32, 63, 64, 80, 128, 256}) {
    cases.push_back({{2, 129, 2, 1, width}, {.window = 33, .soft_cap = 3, .first_key = twice(documents(129, 35))}});
  }
  cases.push_back({{1, 70, 2, 1, 64}, {.window = 33, .soft_cap = 3, .first_key = documents(70, 3)}, true});
  cases.push_back({{1, 70, 2, 1, 6}, {.window = 9, .soft_cap = 3, .first_key = documents(70, 3)}, true});
  add_rounded_cases(cases);
  for (Case& one : cases) one.rule.scale = 1 / std::sqrt(static_cast<double>(one.sizes.head_dim));
  return cases;
}

std::string name_of(const Case& one) {
  const AttentionSizes& s = one.sizes;
  std::string name = fmt::format("batch {}, length {}, heads {} over {}, head width {}", s.batch, s.length, s.heads,
                                 s.kv_heads, s.head_dim);
  if (one.rule.window > 0) name += fmt::format(", window {}", one.rule.window);
  if (one.rule.soft_cap > 0) name += fmt::format(", soft cap {}", one.rule.soft_cap);
  if (!one.rule.first_key.empty()) name += ", documents";
  if (one.precision != MatMulPrecision::Highest) name = fmt::format("{}, {}", name_of(one.precision), name);
  if (one.v_magnitude != 1) name += fmt::format(", values of {}", one.v_magnitude);
  if (one.magnitude > 1) name += fmt::format(", scores of {}", one.magnitude * one.magnitude);
  return name;
}

// log-sum-exps of rows that see keys: the huge negative value of those that see none would set the scale for all.
void compare_log_sum_exp(CaseResult& result, std::vector<float> got, std::vector<double> want, double allowed) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (want[i] > kNoKeysLogSumExp || got[i] != kNoKeysLogSumExp) continue;
    want[i] = 0;
    got[i] = 0;
  }
  compare(result, "log_sum_exp", got, want, allowed);
}

AttentionInputs inputs_of(const Case& one) {
  AttentionInputs inputs = attention_inputs(one.sizes, one.magnitude);
  for (float& value : inputs.v) value *= one.v_magnitude;
  for (float& value : inputs.d_out) value /= one.v_magnitude;
  return inputs;
}

// Weights carry the scores' absolute error, in f16 as in f32.
double allowed_error(const Case& one) {
  const double largest_score = one.magnitude * one.magnitude;
  if (one.precision != MatMulPrecision::Highest) return (1 + largest_score) * kAllowedF16Factors;
  return allowed_attention(one.sizes.length, one.sizes.head_dim, largest_score);
}

CaseResult run_forward(device::Stream& stream, const Case& one) {
  const AttentionSizes& s = one.sizes;
  const AttentionInputs inputs = inputs_of(one);
  const AttentionOutputs got = run_attention(stream, s, one.rule, inputs, Directions::Forward, one.precision);
  const AttentionResult want =
      attention_reference(s, one.rule, to_double(inputs.q), to_double(inputs.k), to_double(inputs.v));
  CaseResult result;
  const double bound = allowed_error(one);
  compare(result, "out", got.out, want.out, bound);
  compare_log_sum_exp(result, got.log_sum_exp, want.log_sum_exp, bound);
  return result;
}

CaseResult run_backward(device::Stream& stream, const Case& one) {
  const AttentionSizes& s = one.sizes;
  const AttentionInputs inputs = inputs_of(one);
  const AttentionOutputs got = run_attention(stream, s, one.rule, inputs, Directions::Both, one.precision);
  const AttentionGradients want = attention_backward_reference(
      s, one.rule, to_double(inputs.d_out), to_double(inputs.q), to_double(inputs.k), to_double(inputs.v));
  CaseResult result;
  const double bound = allowed_error(one) + allowed_f32(s.length * s.heads / s.kv_heads);
  // A row that sees one key, or one that outweighs all others, has a weight of 1, whose gradient is the difference of two equal terms.
  const bool cancels = one.rule.window == 1 || s.length == 1 || one.magnitude > 10;
  const double largest_term = cancels ? want.largest_term : 0;
  compare(result, "d_q", got.d_q, want.d_q, bound, largest_term);
  compare(result, "d_k", got.d_k, want.d_k, bound, largest_term);
  compare(result, "d_v", got.d_v, want.d_v, bound);
  return result;
}

std::vector<KernelCase> cases_of(CaseResult (*run)(device::Stream&, const Case&)) {
  std::vector<KernelCase> list;
  for (const Case& one : all_cases()) {
    list.push_back({name_of(one), one.in_doctor, [run, one](device::Stream& stream) { return run(stream, one); },
                    one.precision != MatMulPrecision::Highest});
  }
  return list;
}

// Sequences of 1,024 tokens, 16 heads of 64 over 8; q has the bytes.
Attention bench_operands(device::Stream& stream, int64_t bytes) {
  constexpr int64_t kHeads = 16;
  constexpr int64_t kKvHeads = 8;
  constexpr int64_t kHeadDim = 64;
  const int64_t rows = bytes / (4 * kHeads * kHeadDim);
  const int64_t length = std::min<int64_t>(rows, 1024);
  return {bench_values(stream, rows * kHeads * kHeadDim, 1),
          bench_values(stream, rows * kKvHeads * kHeadDim, 2),
          bench_values(stream, rows * kKvHeads * kHeadDim, 3),
          stream.device().allocate(rows * kHeads * kHeadDim * 4, "bench out"),
          stream.device().allocate(rows * kHeads * 4, "bench log_sum_exp"),
          rows / length,
          length,
          kHeads,
          kKvHeads,
          kHeadDim,
          0.125F};
}

std::string bench_sizes(const Attention& args) {
  return fmt::format("batch {}, length {}, heads {} over {}, head width {}", args.batch, args.length, args.heads,
                     args.kv_heads, args.head_dim);
}

}  // namespace

KernelBench attention_bench(device::Stream& stream, int64_t bytes, MatMulPrecision precision) {
  Attention args = bench_operands(stream, bytes);
  args.precision = precision;
  return {bench_sizes(args), attention_cost(args), [&stream, args] { attention(stream, args); }};
}

KernelBench attention_backward_bench(device::Stream& stream, int64_t bytes, MatMulPrecision precision) {
  const Attention forward = bench_operands(stream, bytes);
  attention(stream, forward);
  AttentionBackward args{bench_values(stream, forward.q.size_bytes() / 4, 4),
                         forward.q,
                         forward.k,
                         forward.v,
                         forward.out,
                         forward.log_sum_exp,
                         stream.device().allocate(forward.q.size_bytes(), "bench d_q"),
                         stream.device().allocate(forward.k.size_bytes(), "bench d_k"),
                         stream.device().allocate(forward.v.size_bytes(), "bench d_v"),
                         forward.batch,
                         forward.length,
                         forward.heads,
                         forward.kv_heads,
                         forward.head_dim,
                         forward.scale};
  args.precision = precision;
  return {bench_sizes(forward), attention_backward_cost(args), [&stream, args] { attention_backward(stream, args); }};
}

double allowed_attention(int64_t keys, int64_t head_dim, double largest_score) {
  return allowed_f32(keys) + (1 + largest_score) * allowed_f32(head_dim);
}

std::vector<KernelCase> attention_cases() { return cases_of(run_forward); }
std::vector<KernelCase> attention_backward_cases() { return cases_of(run_backward); }

}  // namespace athanor::kernels
