// attention as plain loops in double.
#include "kernels/attention/attention_reference.h"

#include "kernels/attention/attention.h"

#include <algorithm>
#include <cmath>

namespace athanor::kernels {

namespace {

// Where the rows of one batch entry and head lie, and which keys its rows see.
struct HeadView {
  const AttentionSizes& sizes;
  const AttentionRule& rule;
  int64_t b;
  int64_t h;

  size_t query(int64_t t) const {
    return static_cast<size_t>(((b * sizes.length + t) * sizes.heads + h) * sizes.head_dim);
  }
  size_t key(int64_t u) const {
    const int64_t kv = h / (sizes.heads / sizes.kv_heads);
    const int64_t row = b * (sizes.first_position + sizes.length) + u;
    return static_cast<size_t>((row * sizes.kv_heads + kv) * sizes.head_dim);
  }
  size_t row(int64_t t) const { return static_cast<size_t>((b * sizes.length + t) * sizes.heads + h); }
  // Row t sees keys lowest(t) .. end(t) - 1.
  int64_t end(int64_t t) const { return sizes.first_position + t + 1; }
  int64_t lowest(int64_t t) const {
    int64_t first = rule.window == 0 ? 0 : std::max<int64_t>(0, end(t) - rule.window);
    if (!rule.first_key.empty()) first = std::max<int64_t>(first, rule.first_key[b * sizes.length + t]);
    return std::min(first, end(t));
  }
};

double dot(const std::vector<double>& a, size_t a_start, const std::vector<double>& b, size_t b_start, int64_t count) {
  double sum = 0;
  for (int64_t d = 0; d < count; ++d) sum += a[a_start + d] * b[b_start + d];
  return sum;
}

// The softmax of one query row over the keys it sees: entry i is for key lowest(t) + i.
struct RowWeights {
  std::vector<double> weights;
  std::vector<double> slopes;  // of the soft cap
  double log_sum_exp = kNoKeysLogSumExp;
};

RowWeights row_weights(const HeadView& view, const std::vector<double>& q, const std::vector<double>& k, int64_t t) {
  RowWeights row;
  const double cap = view.rule.soft_cap;
  for (int64_t u = view.lowest(t); u < view.end(t); ++u) {
    const double score = view.rule.scale * dot(q, view.query(t), k, view.key(u), view.sizes.head_dim);
    const double bent = cap > 0 ? std::tanh(score / cap) : 0;
    row.weights.push_back(cap > 0 ? cap * bent : score);
    row.slopes.push_back(1 - bent * bent);
  }
  if (row.weights.empty()) return row;
  const double largest = *std::max_element(row.weights.begin(), row.weights.end());
  double sum = 0;
  for (double& weight : row.weights) {
    weight = std::exp(weight - largest);
    sum += weight;
  }
  for (double& weight : row.weights) weight /= sum;
  row.log_sum_exp = largest + std::log(sum);
  return row;
}

template <typename Body>
void for_each_row(const AttentionSizes& sizes, const AttentionRule& rule, Body body) {
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t h = 0; h < sizes.heads; ++h) {
      for (int64_t t = 0; t < sizes.length; ++t) body(HeadView{sizes, rule, b, h}, t);
    }
  }
}

}  // namespace

AttentionResult attention_reference(const AttentionSizes& sizes, const AttentionRule& rule,
                                    const std::vector<double>& q, const std::vector<double>& k,
                                    const std::vector<double>& v) {
  AttentionResult result{std::vector<double>(q.size()), std::vector<double>(q.size() / sizes.head_dim)};
  for_each_row(sizes, rule, [&](const HeadView& view, int64_t t) {
    const RowWeights row = row_weights(view, q, k, t);
    result.log_sum_exp[view.row(t)] = row.log_sum_exp;
    for (int64_t u = view.lowest(t); u < view.end(t); ++u) {
      const double weight = row.weights[u - view.lowest(t)];
      for (int64_t d = 0; d < sizes.head_dim; ++d) result.out[view.query(t) + d] += weight * v[view.key(u) + d];
    }
  });
  return result;
}

AttentionGradients attention_backward_reference(const AttentionSizes& sizes, const AttentionRule& rule,
                                                const std::vector<double>& d_out, const std::vector<double>& q,
                                                const std::vector<double>& k, const std::vector<double>& v) {
  AttentionGradients gradients{std::vector<double>(q.size()), std::vector<double>(k.size()),
                               std::vector<double>(v.size()), 0};
  std::vector<double> d_weights;
  for_each_row(sizes, rule, [&](const HeadView& view, int64_t t) {
    const RowWeights row = row_weights(view, q, k, t);
    const int64_t lowest = view.lowest(t);
    d_weights.clear();
    double mean = 0;
    for (int64_t u = lowest; u < view.end(t); ++u) {
      d_weights.push_back(dot(d_out, view.query(t), v, view.key(u), sizes.head_dim));
      mean += row.weights[u - lowest] * d_weights.back();
    }
    for (int64_t u = lowest; u < view.end(t); ++u) {
      const double weight = row.weights[u - lowest];
      const double factor = rule.scale * weight * row.slopes[u - lowest];
      const double d_score = factor * (d_weights[u - lowest] - mean);
      for (int64_t d = 0; d < sizes.head_dim; ++d) {
        const double operand = std::max(std::abs(k[view.key(u) + d]), std::abs(q[view.query(t) + d]));
        gradients.largest_term = std::max(gradients.largest_term, std::abs(factor * d_weights[u - lowest]) * operand);
        gradients.d_q[view.query(t) + d] += d_score * k[view.key(u) + d];
        gradients.d_k[view.key(u) + d] += d_score * q[view.query(t) + d];
        gradients.d_v[view.key(u) + d] += weight * d_out[view.query(t) + d];
      }
    }
  });
  return gradients;
}

AttentionInputs attention_inputs(const AttentionSizes& s, float magnitude) {
  const int64_t queries = s.batch * s.length * s.heads * s.head_dim;
  const int64_t keys = s.batch * (s.first_position + s.length) * s.kv_heads * s.head_dim;
  return {test_values(queries, 1, magnitude), test_values(keys, 2, magnitude), test_values(keys, 3),
          test_values(queries, 4)};
}

AttentionOutputs run_attention(device::Stream& stream, const AttentionSizes& s, const AttentionRule& rule,
                               const AttentionInputs& inputs, Directions directions, MatMulPrecision precision) {
  const int64_t rows = s.batch * s.length;
  const int64_t queries = rows * s.heads * s.head_dim;
  const int64_t keys = rows * s.kv_heads * s.head_dim;
  Attention forward{upload_values(stream, inputs.q),
                    upload_values(stream, inputs.k),
                    upload_values(stream, inputs.v),
                    poisoned(stream, queries),
                    poisoned(stream, rows * s.heads),
                    s.batch,
                    s.length,
                    s.heads,
                    s.kv_heads,
                    s.head_dim,
                    static_cast<float>(rule.scale),
                    rule.window,
                    static_cast<float>(rule.soft_cap)};
  if (!rule.first_key.empty()) forward.first_key = upload_values(stream, rule.first_key);
  forward.precision = precision;
  attention(stream, forward);
  AttentionOutputs outputs;
  outputs.out = download_values(stream, forward.out);
  outputs.log_sum_exp = download_values(stream, forward.log_sum_exp);
  if (directions == Directions::Forward) return outputs;

  AttentionBackward backward{upload_values(stream, inputs.d_out),
                             forward.q,
                             forward.k,
                             forward.v,
                             forward.out,
                             forward.log_sum_exp,
                             poisoned(stream, queries),
                             poisoned(stream, keys),
                             poisoned(stream, keys),
                             s.batch,
                             s.length,
                             s.heads,
                             s.kv_heads,
                             s.head_dim,
                             forward.scale,
                             forward.window,
                             forward.soft_cap,
                             forward.first_key};
  backward.precision = precision;
  attention_backward(stream, backward);
  outputs.d_q = download_values(stream, backward.d_q);
  outputs.d_k = download_values(stream, backward.d_k);
  outputs.d_v = download_values(stream, backward.d_v);
  return outputs;
}

std::vector<uint32_t> first_keys_of(const std::vector<int64_t>& document_lengths) {
  std::vector<uint32_t> first_keys;
  for (const int64_t length : document_lengths) {
    const auto start = static_cast<uint32_t>(first_keys.size());
    first_keys.insert(first_keys.end(), static_cast<size_t>(length), start);
  }
  return first_keys;
}

}  // namespace athanor::kernels
