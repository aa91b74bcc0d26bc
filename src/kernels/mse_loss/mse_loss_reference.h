// The plain loops in double precision that judge mse_loss, and its cases.
#pragma once

#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

/// scale * sum of (prediction - wanted)^2 / 2.
double mse_loss_reference(const std::vector<double>& prediction, const std::vector<double>& wanted, double scale);

/// (prediction - wanted) * scale, value by value.
std::vector<double> mse_loss_backward_reference(const std::vector<double>& prediction,
                                                const std::vector<double>& wanted, double scale);

std::vector<KernelCase> mse_loss_cases();
std::vector<KernelCase> mse_loss_backward_cases();

}  // namespace athanor::kernels
