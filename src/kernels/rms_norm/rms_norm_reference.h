// The plain loops in double precision that judge rms_norm, and its cases.
#pragma once

#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

/// out = x * (weight + offset) / sqrt(mean(x^2) + eps) for each row of C = weight.size() values.
std::vector<double> rms_norm_reference(const std::vector<double>& x, const std::vector<double>& weight, double eps,
                                       double offset);

struct RmsNormGradients {
  std::vector<double> d_x;
  std::vector<double> d_weight;
};
RmsNormGradients rms_norm_backward_reference(const std::vector<double>& d_out, const std::vector<double>& x,
                                             const std::vector<double>& weight, double eps, double offset);

std::vector<KernelCase> rms_norm_cases();
std::vector<KernelCase> rms_norm_backward_cases();

}  // namespace athanor::kernels
