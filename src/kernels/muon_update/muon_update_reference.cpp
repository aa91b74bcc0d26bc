// muon_update as plain loops in double, in the author's own terms: weights (out, in), a matrix with more rows than columns transposed.
#include "kernels/muon_update/muon_update_reference.h"

#include "kernels/muon_update/muon_update.h"

#include <algorithm>
#include <cmath>

namespace athanor::kernels {

namespace {

using Values = std::vector<double>;

Values transposed(const Values& x, int64_t rows, int64_t columns) {
  Values out(x.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      out[static_cast<size_t>(j * rows + i)] = x[static_cast<size_t>(i * columns + j)];
    }
  }
  return out;
}

/// a (m, k) times b (k, n).
Values product(const Values& a, const Values& b, int64_t m, int64_t k, int64_t n) {
  Values out(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t l = 0; l < k; ++l) {
      const double factor = a[static_cast<size_t>(i * k + l)];
      for (int64_t j = 0; j < n; ++j) out[static_cast<size_t>(i * n + j)] += factor * b[static_cast<size_t>(l * n + j)];
    }
  }
  return out;
}

}  // namespace

std::vector<double> newton_schulz_reference(std::vector<double> x, int64_t rows, int64_t columns) {
  const bool is_tall = rows > columns;
  if (is_tall) x = transposed(x, rows, columns);
  const int64_t m = std::min(rows, columns);
  const int64_t n = std::max(rows, columns);
  double squares = 0;
  for (double value : x) squares += value * value;
  for (double& value : x) value /= std::sqrt(squares) + 1e-7;
  for (int step = 0; step < 5; ++step) {
    const Values gram = product(x, transposed(x, m, n), m, n, m);
    Values polynomial = product(gram, gram, m, m, m);
    for (size_t i = 0; i < gram.size(); ++i) polynomial[i] = -4.775 * gram[i] + 2.0315 * polynomial[i];
    const Values change = product(polynomial, x, m, m, n);
    for (size_t i = 0; i < x.size(); ++i) x[i] = 3.4445 * x[i] + change[i];
  }
  return is_tall ? transposed(x, m, n) : x;
}

void muon_update_reference(MuonState& state, const std::vector<double>& gradients, int64_t in, int64_t out,
                           const MuonSettings& settings, double clip_scale) {
  Values update(gradients.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    const double g = gradients[i] * clip_scale;
    state.m[i] += (1 - settings.momentum) * (g - state.m[i]);
    update[i] = g + settings.momentum * (state.m[i] - g);
  }
  const Values direction = transposed(newton_schulz_reference(transposed(update, in, out), out, in), out, in);
  const double factor = std::sqrt(std::max(1.0, static_cast<double>(out) / static_cast<double>(in)));
  for (size_t i = 0; i < direction.size(); ++i) {
    state.weights[i] *= 1 - settings.lr * settings.weight_decay;
    state.weights[i] -= settings.lr * factor * direction[i];
  }
}

namespace {

struct Sizes {
  int64_t rows;
  int64_t columns;
  int steps;
  float clip_scale;
  bool in_doctor;
};

// Square, wide and tall; below and above a tile of 64; rows that are no whole vectors; a small hidden matrix.
const std::vector<Sizes> kSizes = {{1, 1, 2, 1, false},       {1, 5, 2, 1, false},     {2, 2, 2, 0.5F, false},
                                   {3, 5, 2, 1, false},       {5, 3, 2, 0.25F, false}, {6, 6, 2, 1, false},
                                   {12, 16, 2, 1, true},      {16, 12, 2, 0.5F, true}, {63, 65, 2, 1, false},
                                   {65, 63, 1, 1, false},     {48, 80, 1, 1, true},    {65, 257, 1, 1, false},
                                   {257, 65, 1, 0.1F, false}, {256, 128, 1, 1, false}};

MuonUpdate make_args(const MuonSettings& settings, int64_t rows, int64_t columns) {
  MuonUpdate args;
  args.rows = rows;
  args.columns = columns;
  args.lr = static_cast<float>(settings.lr);
  args.weight_decay = static_cast<float>(settings.weight_decay);
  args.momentum = static_cast<float>(settings.momentum);
  args.one_minus_momentum = static_cast<float>(1 - settings.momentum);
  return args;
}

// The weights begin small, so that a step is most of what they are after it and its error is seen. Every one of the five Newton-Schulz
// steps may err by what one sum of f32 may: measured against double with the same steps in f32, whole updates err by up to 2.8 of it.
CaseResult run_case(device::Stream& stream, const Sizes& sizes) {
  const MuonSettings settings;
  const int64_t count = sizes.rows * sizes.columns;
  const std::vector<float> weights = test_values(count, 1, 0.01F);
  const std::vector<float> zeros(static_cast<size_t>(count), 0.0F);
  MuonState want{to_double(weights), to_double(zeros)};
  MuonUpdate args = make_args(settings, sizes.rows, sizes.columns);
  args.weights = upload_values(stream, weights);
  args.m = upload_values(stream, zeros);
  args.stats = upload_values(stream, std::vector<float>{1, sizes.clip_scale, 0, 0});
  for (int step = 0; step < sizes.steps; ++step) {
    const std::vector<float> gradients = test_values(count, static_cast<uint32_t>(10 + step), 1e-3F);
    args.gradients = upload_values(stream, gradients);
    muon_update(stream, args);
    muon_update_reference(want, to_double(gradients), sizes.rows, sizes.columns, settings, sizes.clip_scale);
  }
  CaseResult result;
  compare(result, "m", download_values(stream, args.m), want.m, allowed_f32(3));
  compare(result, "weights", download_values(stream, args.weights), want.weights,
          5 * allowed_f32(std::max(sizes.rows, sizes.columns)));
  return result;
}

}  // namespace

std::vector<KernelCase> muon_update_cases() {
  std::vector<KernelCase> cases;
  for (const Sizes& sizes : kSizes) {
    cases.push_back({fmt::format("{} steps, rows {}, columns {}", sizes.steps, sizes.rows, sizes.columns),
                     sizes.in_doctor, [sizes](device::Stream& stream) { return run_case(stream, sizes); }});
  }
  return cases;
}

}  // namespace athanor::kernels
