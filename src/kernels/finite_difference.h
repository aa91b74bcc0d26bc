// For tests: a gradient written as a plain loop against central differences in double.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace athanor::kernels {

/// Expects d_x[i] = sum_j d_out[j] * d f_j / d x_i for every i, to 1e-6 of the largest value of d_x.
inline void expect_gradient(const std::vector<double>& x, const std::vector<double>& d_x,
                            const std::vector<double>& d_out,
                            const std::function<std::vector<double>(const std::vector<double>&)>& f) {
  constexpr double kStep = 1e-5;
  double largest = 1e-30;
  for (double value : d_x) largest = std::max(largest, std::abs(value));
  ASSERT_EQ(x.size(), d_x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    std::vector<double> moved = x;
    moved[i] = x[i] + kStep;
    const std::vector<double> above = f(moved);
    moved[i] = x[i] - kStep;
    const std::vector<double> below = f(moved);
    double slope = 0;
    for (size_t j = 0; j < above.size(); ++j) slope += d_out[j] * (above[j] - below[j]) / (2 * kStep);
    EXPECT_NEAR(d_x[i], slope, 1e-6 * largest) << "value " << i;
  }
}

}  // namespace athanor::kernels
