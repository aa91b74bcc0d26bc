// The plain loops in double precision that judge sum, gradient_norm_squared and finalize_grad_stats, and their cases.
#pragma once

#include "kernels/kernel_info.h"
#include "kernels/segments/segments.h"

#include <vector>

namespace athanor::kernels {

double sum_reference(const std::vector<double>& values);

/// Sums of squares over blocks of kNormBlock.
std::vector<double> gradient_norm_squared_reference(const std::vector<double>& gradients);

/// Sums of squares of each tensor.
std::vector<double> tensor_norms_reference(const std::vector<double>& gradients, const std::vector<Segment>& segments);

/// Norm, clip scale, flag, 0; for finite sums.
std::vector<double> finalize_grad_stats_reference(const std::vector<double>& partial, double max_norm);

std::vector<KernelCase> sum_cases();
std::vector<KernelCase> gradient_norm_squared_cases();
std::vector<KernelCase> finalize_grad_stats_cases();

}  // namespace athanor::kernels
