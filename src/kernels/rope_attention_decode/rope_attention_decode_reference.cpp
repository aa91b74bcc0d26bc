// rope_attention_decode by plain loops in double, and the sizes it is tried at.
#include "kernels/rope_attention_decode/rope_attention_decode_reference.h"

#include "kernels/attention/attention_internal.h"
#include "kernels/attention_decode/attention_decode_reference.h"
#include "kernels/rope/rope.h"
#include "kernels/rope/rope_reference.h"
#include "kernels/rope_attention_decode/rope_attention_decode.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace athanor::kernels {

namespace {

struct Sizes {
  int64_t position;
  int64_t capacity;
  int64_t heads;
  int64_t kv_heads;
  int64_t head_dim;
};

struct Case {
  Sizes sizes;
  bool in_doctor;
  float magnitude = 1;
};

// The first token and later ones; caches of less and of more rows than a workgroup has threads, and the longest that one launch takes;
// longer ones and widths that are no whole vectors, which take two kernels; lanes that are no power of two; a real model's heads.
const std::vector<Case> kCases = {
    {{0, 1, 1, 1, 8}, false},        {{0, 7, 4, 2, 16}, true},
    {{5, 6, 3, 1, 10}, true},        {{63, 65, 9, 3, 64}, true},
    {{255, 256, 4, 4, 24}, false},   {{256, 300, 6, 2, 128}, true},
    {{300, 512, 9, 3, 64}, true},    {{1023, 1024, 2, 1, 256}, true},
    {{1024, 1100, 2, 1, 64}, false}, {{150, 160, 2, 1, 32}, true, 60.0F},
};

CaseResult run_case(device::Stream& stream, const Case& one) {
  const Sizes& s = one.sizes;
  const int64_t kv_columns = s.kv_heads * s.head_dim;
  const std::vector<float> q = test_values(s.heads * s.head_dim, 1, one.magnitude);
  const std::vector<float> k = test_values(kv_columns, 2, one.magnitude);
  const std::vector<float> v = test_values(kv_columns, 3);
  std::vector<float> k_cache = test_values(s.capacity * kv_columns, 4, one.magnitude);
  std::vector<float> v_cache = test_values(s.capacity * kv_columns, 5);
  const auto rotated = [&](const std::vector<float>& x, int64_t heads) {
    return rope_reference(to_double(x), {1, heads, s.head_dim, 1, s.position}, 1);
  };
  const auto with_row = [&](const std::vector<float>& cache, const std::vector<double>& row) {
    std::vector<double> whole = to_double(std::span(cache).first(static_cast<size_t>(s.position * kv_columns)));
    whole.insert(whole.end(), row.begin(), row.end());
    return whole;
  };
  const std::vector<double> want_k = with_row(k_cache, rotated(k, s.kv_heads));
  const std::vector<double> want_v = with_row(v_cache, to_double(v));
  AttentionRule rule;
  rule.scale = 1 / std::sqrt(static_cast<double>(s.head_dim));
  const std::vector<double> want = attention_decode_reference(
      {1, s.position, s.position + 1, s.heads, s.kv_heads, s.head_dim}, rule, rotated(q, s.heads), want_k, want_v);
  // What is at the new row and behind it may be anything.
  const auto used = static_cast<std::ptrdiff_t>(s.position * kv_columns);
  std::fill(k_cache.begin() + used, k_cache.end(), std::numeric_limits<float>::quiet_NaN());
  std::fill(v_cache.begin() + used, v_cache.end(), std::numeric_limits<float>::quiet_NaN());
  RopeAttentionDecode args;
  args.q = upload_values(stream, q);
  args.k = upload_values(stream, k);
  args.v = upload_values(stream, v);
  args.table = upload_values(stream, rope_table(s.position + 1, s.head_dim, 10000));
  args.k_cache = upload_values(stream, k_cache);
  args.v_cache = upload_values(stream, v_cache);
  args.out = poisoned(stream, s.heads * s.head_dim);
  args.position = s.position;
  args.capacity = s.capacity;
  args.heads = s.heads;
  args.kv_heads = s.kv_heads;
  args.head_dim = s.head_dim;
  args.scale = static_cast<float>(rule.scale);
  rope_attention_decode(stream, args);

  const int64_t bytes = (s.position + 1) * kv_columns * 4;
  CaseResult result;
  compare(result, "out", download_values(stream, args.out), want,
          allowed_attention(s.position + 1, s.head_dim, one.magnitude * one.magnitude));
  compare(result, "k_cache", download_values(stream, args.k_cache.slice(0, bytes)), want_k, allowed_f32(2));
  compare(result, "v_cache", download_values(stream, args.v_cache.slice(0, bytes)), want_v, 0);
  return result;
}

}  // namespace

std::vector<KernelCase> rope_attention_decode_cases() {
  std::vector<KernelCase> list;
  for (const Case& one : kCases) {
    const Sizes& s = one.sizes;
    list.push_back({fmt::format("position {} of {}, heads {} over {}, head width {}{}", s.position, s.capacity, s.heads,
                                s.kv_heads, s.head_dim, one.magnitude > 1 ? ", large scores" : ""),
                    one.in_doctor, [one](device::Stream& stream) { return run_case(stream, one); }});
  }
  return list;
}

}  // namespace athanor::kernels
