// The cases of rms_norm_residual. Its plain loops are an addition and those of rms_norm.
#pragma once

#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

struct NormResidualValues {
  std::vector<double> y;
  std::vector<double> out;
};
/// y = x + residual and rms_norm_reference of y.
NormResidualValues rms_norm_residual_reference(const std::vector<double>& x, const std::vector<double>& residual,
                                               const std::vector<double>& weight, double eps, double offset);

std::vector<KernelCase> rms_norm_residual_cases();
std::vector<KernelCase> rms_norm_residual_backward_cases();

}  // namespace athanor::kernels
