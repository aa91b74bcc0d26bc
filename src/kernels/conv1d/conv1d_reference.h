// The plain loops in double precision that judge conv1d, and its cases.
#pragma once

#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

struct Conv1dSizes {
  int64_t batch;
  int64_t channels;
  int64_t length;
};

/// out[b, d, s] = bias[d] + sum over k of x[b, d, s + k - 1] * weight[d, k], with zeros outside the row.
std::vector<double> conv1d_reference(const std::vector<double>& x, const std::vector<double>& weight,
                                     const std::vector<double>& bias, const Conv1dSizes& sizes);

struct Conv1dGradients {
  std::vector<double> d_x;
  std::vector<double> d_weight;
  std::vector<double> d_bias;
};
Conv1dGradients conv1d_backward_reference(const std::vector<double>& d_out, const std::vector<double>& x,
                                          const std::vector<double>& weight, const Conv1dSizes& sizes);

std::vector<KernelCase> conv1d_cases();
std::vector<KernelCase> conv1d_backward_cases();

}  // namespace athanor::kernels
