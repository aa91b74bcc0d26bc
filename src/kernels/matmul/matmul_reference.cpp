// The matrix products as plain loops in double.
#include "kernels/matmul/matmul_reference.h"

#include <cmath>

namespace athanor::kernels {

std::vector<double> matmul_reference(const std::vector<double>& x, const std::vector<double>& w, int64_t m, int64_t n,
                                     int64_t k) {
  std::vector<double> y(static_cast<size_t>(m * n));
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t column = 0; column < n; ++column) y[row * n + column] += x[row * k + i] * w[i * n + column];
    }
  }
  return y;
}

std::vector<double> matmul_t_reference(const std::vector<double>& x, const std::vector<double>& w, int64_t m, int64_t n,
                                       int64_t k) {
  std::vector<double> y(static_cast<size_t>(m * n));
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      for (int64_t i = 0; i < k; ++i) y[row * n + column] += x[row * k + i] * w[column * k + i];
    }
  }
  return y;
}

std::vector<double> matmul_at_reference(const std::vector<double>& x, const std::vector<double>& b, int64_t k,
                                        int64_t n, int64_t m) {
  std::vector<double> y(static_cast<size_t>(k * n));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t row = 0; row < k; ++row) {
      for (int64_t column = 0; column < n; ++column) y[row * n + column] += x[i * k + row] * b[i * n + column];
    }
  }
  return y;
}

std::vector<double> swiglu_hidden_reference(const std::vector<double>& gate, const std::vector<double>& up) {
  std::vector<double> hidden(gate.size());
  for (size_t i = 0; i < gate.size(); ++i) hidden[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
  return hidden;
}

}  // namespace athanor::kernels
