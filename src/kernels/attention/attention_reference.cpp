// attention as plain loops in double, and the sizes it is tried at.
#include "kernels/attention/attention_reference.h"

#include "kernels/attention/attention.h"

#include <algorithm>
#include <cmath>

namespace athanor::kernels {

namespace {

// Where the rows of one batch and head lie, and the softmax of one query row over the keys it sees.
struct HeadView {
  const AttentionSizes& sizes;
  int64_t b;
  int64_t h;

  size_t query(int64_t t) const {
    return static_cast<size_t>(((b * sizes.length + t) * sizes.heads + h) * sizes.head_dim);
  }
  size_t key(int64_t u) const {
    const int64_t kv = h / (sizes.heads / sizes.kv_heads);
    return static_cast<size_t>(((b * sizes.length + u) * sizes.kv_heads + kv) * sizes.head_dim);
  }
  size_t row(int64_t t) const { return static_cast<size_t>((b * sizes.length + t) * sizes.heads + h); }
};

double dot(const std::vector<double>& a, size_t a_start, const std::vector<double>& b, size_t b_start, int64_t count) {
  double sum = 0;
  for (int64_t d = 0; d < count; ++d) sum += a[a_start + d] * b[b_start + d];
  return sum;
}

// Weights of row t over keys 0 .. t; returns the log-sum-exp.
double row_weights(const HeadView& view, double scale, const std::vector<double>& q, const std::vector<double>& k,
                   int64_t t, std::vector<double>& weights) {
  weights.resize(static_cast<size_t>(t + 1));
  for (int64_t u = 0; u <= t; ++u) weights[u] = scale * dot(q, view.query(t), k, view.key(u), view.sizes.head_dim);
  const double largest = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (double& weight : weights) {
    weight = std::exp(weight - largest);
    sum += weight;
  }
  for (double& weight : weights) weight /= sum;
  return largest + std::log(sum);
}

template <typename Body>
void for_each_row(const AttentionSizes& sizes, Body body) {
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t h = 0; h < sizes.heads; ++h) {
      for (int64_t t = 0; t < sizes.length; ++t) body(HeadView{sizes, b, h}, t);
    }
  }
}

}  // namespace

AttentionResult attention_reference(const AttentionSizes& sizes, double scale, const std::vector<double>& q,
                                    const std::vector<double>& k, const std::vector<double>& v) {
  AttentionResult result{std::vector<double>(q.size()), std::vector<double>(q.size() / sizes.head_dim)};
  std::vector<double> weights;
  for_each_row(sizes, [&](const HeadView& view, int64_t t) {
    result.log_sum_exp[view.row(t)] = row_weights(view, scale, q, k, t, weights);
    for (int64_t u = 0; u <= t; ++u) {
      for (int64_t d = 0; d < sizes.head_dim; ++d) result.out[view.query(t) + d] += weights[u] * v[view.key(u) + d];
    }
  });
  return result;
}

AttentionGradients attention_backward_reference(const AttentionSizes& sizes, double scale,
                                                const std::vector<double>& d_out, const std::vector<double>& q,
                                                const std::vector<double>& k, const std::vector<double>& v) {
  AttentionGradients gradients{std::vector<double>(q.size()), std::vector<double>(k.size()),
                               std::vector<double>(v.size())};
  std::vector<double> weights;
  std::vector<double> d_weights;
  for_each_row(sizes, [&](const HeadView& view, int64_t t) {
    row_weights(view, scale, q, k, t, weights);
    d_weights.resize(weights.size());
    double mean = 0;
    for (int64_t u = 0; u <= t; ++u) {
      d_weights[u] = dot(d_out, view.query(t), v, view.key(u), sizes.head_dim);
      mean += weights[u] * d_weights[u];
    }
    for (int64_t u = 0; u <= t; ++u) {
      const double d_score = scale * weights[u] * (d_weights[u] - mean);
      for (int64_t d = 0; d < sizes.head_dim; ++d) {
        gradients.d_q[view.query(t) + d] += d_score * k[view.key(u) + d];
        gradients.d_k[view.key(u) + d] += d_score * q[view.query(t) + d];
        gradients.d_v[view.key(u) + d] += weights[u] * d_out[view.query(t) + d];
      }
    }
  });
  return gradients;
}

namespace {

struct Case {
  AttentionSizes sizes;
  bool in_doctor;
};

// Lengths around a tile of 32 and of 64, groups of 1, 2, 4 and 8 heads, widths divisible by four and not, up to 256.
const std::vector<Case> kCases = {
    {{1, 1, 1, 1, 1}, false},    {{2, 3, 2, 1, 2}, true},      {{1, 5, 4, 4, 4}, false},    {{3, 33, 4, 1, 6}, true},
    {{1, 63, 8, 1, 32}, true},   {{2, 65, 2, 1, 64}, true},    {{1, 65, 3, 3, 65}, false},  {{1, 257, 2, 2, 32}, false},
    {{1, 63, 2, 1, 128}, false}, {{1, 129, 2, 1, 256}, false}, {{2, 256, 4, 2, 64}, false},
};

std::string name_of(const AttentionSizes& s) {
  return fmt::format("batch {}, length {}, heads {} over {}, head width {}", s.batch, s.length, s.heads, s.kv_heads,
                     s.head_dim);
}

struct Inputs {
  std::vector<float> q, k, v, d_out;
  float scale;
};

Inputs inputs_of(const AttentionSizes& s, float magnitude) {
  const int64_t tokens = s.batch * s.length;
  return {test_values(tokens * s.heads * s.head_dim, 1, magnitude),
          test_values(tokens * s.kv_heads * s.head_dim, 2, magnitude), test_values(tokens * s.kv_heads * s.head_dim, 3),
          test_values(tokens * s.heads * s.head_dim, 4),
          static_cast<float>(1 / std::sqrt(static_cast<double>(s.head_dim)))};
}

Attention upload_inputs(device::Stream& stream, const AttentionSizes& s, const Inputs& inputs) {
  const int64_t rows = s.batch * s.length * s.heads;
  return {upload_values(stream, inputs.q),
          upload_values(stream, inputs.k),
          upload_values(stream, inputs.v),
          poisoned(stream, rows * s.head_dim),
          poisoned(stream, rows),
          s.batch,
          s.length,
          s.heads,
          s.kv_heads,
          s.head_dim,
          inputs.scale};
}

// The weights carry the scores' absolute error, which grows with their size: a score of L is off by L * 2^-24 and more.
double allowed(const AttentionSizes& s, double largest_score) {
  return allowed_f32(s.length) + (1 + largest_score) * allowed_f32(s.head_dim);
}

CaseResult run_forward(device::Stream& stream, const AttentionSizes& s, float magnitude) {
  const Inputs inputs = inputs_of(s, magnitude);
  const Attention args = upload_inputs(stream, s, inputs);
  attention(stream, args);
  const AttentionResult want =
      attention_reference(s, inputs.scale, to_double(inputs.q), to_double(inputs.k), to_double(inputs.v));
  CaseResult result;
  const double bound = allowed(s, magnitude * magnitude);
  compare(result, "out", download_values(stream, args.out), want.out, bound);
  compare(result, "log_sum_exp", download_values(stream, args.log_sum_exp), want.log_sum_exp, bound);
  return result;
}

CaseResult run_backward(device::Stream& stream, const AttentionSizes& s, float magnitude) {
  const Inputs inputs = inputs_of(s, magnitude);
  const Attention forward = upload_inputs(stream, s, inputs);
  attention(stream, forward);
  const int64_t queries = static_cast<int64_t>(inputs.q.size());
  const int64_t keys = static_cast<int64_t>(inputs.k.size());
  const AttentionBackward args{upload_values(stream, inputs.d_out),
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
                               inputs.scale};
  attention_backward(stream, args);
  const AttentionGradients want = attention_backward_reference(
      s, inputs.scale, to_double(inputs.d_out), to_double(inputs.q), to_double(inputs.k), to_double(inputs.v));
  CaseResult result;
  const double bound = allowed(s, magnitude * magnitude) + allowed_f32(s.length * s.heads / s.kv_heads);
  compare(result, "d_q", download_values(stream, args.d_q), want.d_q, bound);
  compare(result, "d_k", download_values(stream, args.d_k), want.d_k, bound);
  compare(result, "d_v", download_values(stream, args.d_v), want.d_v, bound);
  return result;
}

using Run = CaseResult (*)(device::Stream&, const AttentionSizes&, float);

std::vector<KernelCase> cases(Run run) {
  std::vector<KernelCase> list;
  for (const Case& one : kCases) {
    const AttentionSizes sizes = one.sizes;
    list.push_back(
        {name_of(sizes), one.in_doctor, [run, sizes](device::Stream& stream) { return run(stream, sizes, 1.0F); }});
  }
  return list;
}

}  // namespace

std::vector<KernelCase> attention_cases() {
  std::vector<KernelCase> list = cases(run_forward);
  // Scores of about 1e4 and -1e4: the softmax saturates and must not overflow.
  list.push_back(
      {"scores of 1e4", true, [](device::Stream& stream) { return run_forward(stream, {1, 65, 2, 1, 32}, 60.0F); }});
  return list;
}

std::vector<KernelCase> attention_backward_cases() {
  std::vector<KernelCase> list = cases(run_backward);
  list.push_back({"scores of about 50", true,
                  [](device::Stream& stream) { return run_backward(stream, {1, 65, 2, 1, 32}, 4.0F); }});
  return list;
}

}  // namespace athanor::kernels
