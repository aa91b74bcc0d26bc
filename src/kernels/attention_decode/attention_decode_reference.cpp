// attention_decode as a plain loop in double, and the sizes it is tried at.
#include "kernels/attention_decode/attention_decode_reference.h"

#include "kernels/attention_decode/attention_decode.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace athanor::kernels {

std::vector<double> attention_decode_reference(const DecodeSizes& sizes, double scale, const std::vector<double>& q,
                                               const std::vector<double>& k, const std::vector<double>& v) {
  std::vector<double> out(q.size());
  for (int64_t row = 0; row < sizes.rows; ++row) {
    const int64_t seen = sizes.position + row + 1;
    for (int64_t h = 0; h < sizes.heads; ++h) {
      const int64_t kv_head = h / (sizes.heads / sizes.kv_heads);
      const size_t query = static_cast<size_t>((row * sizes.heads + h) * sizes.head_dim);
      const auto key = [&](int64_t u) { return static_cast<size_t>((u * sizes.kv_heads + kv_head) * sizes.head_dim); };
      std::vector<double> weights(static_cast<size_t>(seen));
      for (int64_t u = 0; u < seen; ++u) {
        for (int64_t d = 0; d < sizes.head_dim; ++d) weights[u] += scale * q[query + d] * k[key(u) + d];
      }
      const double largest = *std::max_element(weights.begin(), weights.end());
      double sum = 0;
      for (double& weight : weights) {
        weight = std::exp(weight - largest);
        sum += weight;
      }
      for (int64_t u = 0; u < seen; ++u) {
        for (int64_t d = 0; d < sizes.head_dim; ++d) out[query + d] += weights[u] / sum * v[key(u) + d];
      }
    }
  }
  return out;
}

namespace {

struct Case {
  DecodeSizes sizes;
  bool in_doctor;
};

// One row and chunks below and above the row count at which tiles take over; caches around a piece of 128 and of 256 rows.
const std::vector<Case> kCases = {
    {{1, 0, 1, 1, 1, 1}, false},        {{1, 4, 9, 2, 1, 6}, true},         {{3, 126, 140, 4, 2, 5}, true},
    {{1, 127, 128, 8, 1, 64}, true},    {{1, 128, 300, 3, 3, 65}, false},   {{7, 257, 264, 2, 1, 32}, false},
    {{8, 63, 80, 4, 1, 32}, true},      {{65, 257, 400, 2, 2, 64}, false},  {{33, 0, 64, 2, 1, 6}, false},
    {{1, 600, 1024, 2, 1, 256}, false}, {{1, 1000, 1024, 4, 2, 64}, false}, {{2, 511, 513, 3, 1, 128}, false},
};

CaseResult run_case(device::Stream& stream, const DecodeSizes& s, float magnitude) {
  const int64_t query_count = s.rows * s.heads * s.head_dim;
  const int64_t row_values = s.kv_heads * s.head_dim;
  const int64_t used = (s.position + s.rows) * row_values;
  const std::vector<float> q = test_values(query_count, 1, magnitude);
  std::vector<float> k = test_values(s.capacity * row_values, 2, magnitude);
  std::vector<float> v = test_values(s.capacity * row_values, 3);
  const float scale = static_cast<float>(1 / std::sqrt(static_cast<double>(s.head_dim)));
  const std::vector<double> want = attention_decode_reference(s, scale, to_double(q), to_double(k), to_double(v));
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
                             scale};
  attention_decode(stream, args);
  CaseResult result;
  // Weights carry the scores' absolute error, which grows with their size, as in attention.
  compare(result, "out", download_values(stream, args.out), want,
          allowed_f32(s.position + s.rows) + (1 + magnitude * magnitude) * allowed_f32(s.head_dim));
  return result;
}

}  // namespace

std::vector<KernelCase> attention_decode_cases() {
  std::vector<KernelCase> list;
  for (const Case& one : kCases) {
    const DecodeSizes sizes = one.sizes;
    list.push_back({fmt::format("rows {} at {} of {}, heads {} over {}, head width {}", sizes.rows, sizes.position,
                                sizes.capacity, sizes.heads, sizes.kv_heads, sizes.head_dim),
                    one.in_doctor, [sizes](device::Stream& stream) { return run_case(stream, sizes, 1.0F); }});
  }
  list.push_back(
      {"scores of 1e4", true, [](device::Stream& stream) { return run_case(stream, {1, 150, 160, 2, 1, 32}, 60.0F); }});
  return list;
}

}  // namespace athanor::kernels
