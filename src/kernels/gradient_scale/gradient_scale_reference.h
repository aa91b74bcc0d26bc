// The plain loops in double precision that judge gradient_scale and clip_grad_by_norm, and their cases.
#pragma once

#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

/// factor * g, value by value.
std::vector<double> gradient_scale_reference(const std::vector<double>& gradients, double factor);

/// clip scale * g; the gradients themselves when the flag is set. stats: norm, clip scale, flag, 0.
std::vector<double> clip_grad_by_norm_reference(const std::vector<double>& gradients, const std::vector<double>& stats);

std::vector<KernelCase> gradient_scale_cases();
std::vector<KernelCase> clip_grad_by_norm_cases();

}  // namespace athanor::kernels
