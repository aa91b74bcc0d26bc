// attention_decode by the plain loop of attention, the sizes it is tried at, and what `bench kernels` measures.
#include "kernels/attention_decode/attention_decode_reference.h"

#include "kernels/attention_decode/attention_decode.h"
#include "kernels/attention_decode/attention_decode_internal.h"
#include "kernels/bench_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace athanor::kernels {

std::vector<double> attention_decode_reference(const DecodeSizes& s, const AttentionRule& rule,
                                               const std::vector<double>& q, const std::vector<double>& k,
                                               const std::vector<double>& v) {
  const AttentionSizes sizes{1, s.rows, s.heads, s.kv_heads, s.head_dim, s.position};
  return attention_reference(sizes, rule, q, k, v).out;
}

namespace {

struct Case {
  DecodeSizes sizes;
  AttentionRule rule;  // scale is 1 / sqrt(D)
  bool in_doctor = false;
  float magnitude = 1;
};

// One row and chunks below and above the row count at which tiles take over; caches around a piece of 128 and of 256 rows, and of more
// than the 64 pieces that are joined at a time; windows within a piece, at its edge, over several, and longer than the cache.
std::vector<Case> all_cases() {
  std::vector<Case> cases = {
      {{1, 0, 1, 1, 1, 1}, {}},
      {{1, 4, 9, 2, 1, 6}, {}, true},
      {{3, 126, 140, 4, 2, 5}, {}, true},
      {{1, 127, 128, 8, 1, 64}, {}, true},
      {{1, 128, 300, 3, 3, 65}, {}},
      {{7, 257, 264, 2, 1, 32}, {}},
      {{8, 63, 80, 4, 1, 64}, {}},
      {{65, 257, 400, 2, 2, 64}, {}},
      {{33, 0, 64, 2, 1, 6}, {}},
      {{1, 600, 1024, 2, 1, 256}, {}},
      {{1, 1000, 1024, 4, 2, 64}, {}},
      {{2, 511, 513, 3, 1, 128}, {}},
      {{1, 8400, 8448, 1, 1, 6}, {}},
      {{1, 150, 160, 2, 1, 32}, {}, true, 60.0F},
      {{1, 300, 320, 2, 1, 32}, {.window = 1}},
      {{3, 255, 264, 4, 2, 20}, {.window = 128, .soft_cap = 3}, true},
      {{7, 400, 410, 2, 1, 63}, {.window = 257}},
      {{2, 400, 410, 2, 1, 80}, {.window = 4096, .soft_cap = 50}},
      {{33, 257, 300, 2, 1, 64}, {.window = 65, .soft_cap = 3}, true},
      {{9, 1000, 1024, 2, 1, 63}, {.window = 33}},
  };
  for (Case& one : cases) one.rule.scale = 1 / std::sqrt(static_cast<double>(one.sizes.head_dim));
  return cases;
}

std::string name_of(const Case& one) {
  const DecodeSizes& s = one.sizes;
  std::string name = fmt::format("rows {} at {} of {}, heads {} over {}, head width {}", s.rows, s.position, s.capacity,
                                 s.heads, s.kv_heads, s.head_dim);
  if (one.rule.window > 0) name += fmt::format(", window {}", one.rule.window);
  if (one.rule.soft_cap > 0) name += fmt::format(", soft cap {}", one.rule.soft_cap);
  if (one.magnitude > 1) name += fmt::format(", scores of {}", one.magnitude * one.magnitude);
  return name;
}

CaseResult run_case(device::Stream& stream, const Case& one) {
  const DecodeSizes& s = one.sizes;
  const int64_t query_count = s.rows * s.heads * s.head_dim;
  const int64_t row_values = s.kv_heads * s.head_dim;
  const int64_t used = (s.position + s.rows) * row_values;
  const std::vector<float> q = test_values(query_count, 1, one.magnitude);
  std::vector<float> k = test_values(s.capacity * row_values, 2, one.magnitude);
  std::vector<float> v = test_values(s.capacity * row_values, 3);
  const std::vector<double> want = attention_decode_reference(s, one.rule, to_double(q), to_double(k), to_double(v));
  // What is behind the last row may be anything.
  std::fill(k.begin() + used, k.end(), std::numeric_limits<float>::quiet_NaN());
  std::fill(v.begin() + used, v.end(), std::numeric_limits<float>::quiet_NaN());
  const AttentionDecode args{upload_values(stream, q),
                             upload_values(stream, k),
                             upload_values(stream, v),
                             poisoned(stream, query_count),
                             s.rows,
                             s.position,
                             s.capacity,
                             s.heads,
                             s.kv_heads,
                             s.head_dim,
                             static_cast<float>(one.rule.scale),
                             one.rule.window,
                             static_cast<float>(one.rule.soft_cap)};
  attention_decode(stream, args);
  CaseResult result;
  compare(result, "out", download_values(stream, args.out), want,
          allowed_attention(s.position + s.rows, s.head_dim, one.magnitude * one.magnitude));
  return result;
}

}  // namespace

std::vector<KernelCase> attention_decode_cases() {
  std::vector<KernelCase> list;
  for (const Case& one : all_cases()) {
    list.push_back({name_of(one), one.in_doctor, [one](device::Stream& stream) { return run_case(stream, one); }});
  }
  return list;
}

// One new token of 32 heads of 128 over 8, at the end of a full cache; the key cache has the bytes.
KernelBench attention_decode_bench(device::Stream& stream, int64_t bytes) {
  constexpr int64_t kHeads = 32;
  constexpr int64_t kKvHeads = 8;
  constexpr int64_t kHeadDim = 128;
  const int64_t capacity = bytes / (4 * kKvHeads * kHeadDim);
  const AttentionDecode args{bench_values(stream, kHeads * kHeadDim, 1),
                             bench_values(stream, capacity * kKvHeads * kHeadDim, 2),
                             bench_values(stream, capacity * kKvHeads * kHeadDim, 3),
                             stream.device().allocate(kHeads * kHeadDim * 4, "bench out"),
                             1,
                             capacity - 1,
                             capacity,
                             kHeads,
                             kKvHeads,
                             kHeadDim,
                             0.088388F};
  return {fmt::format("cache of {}, heads {} over {}, head width {}", capacity, kHeads, kKvHeads, kHeadDim),
          attention_decode_cost(args), [&stream, args] { attention_decode(stream, args); }};
}

}  // namespace athanor::kernels
