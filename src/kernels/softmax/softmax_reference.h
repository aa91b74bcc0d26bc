// The plain loops in double precision that judge softmax, and its cases.
#pragma once

#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

/// e^x / sum of e^x of each row of `columns` values; 0 for values at or below kMaskedValue / 2.
std::vector<double> softmax_reference(const std::vector<double>& x, int64_t columns);

/// out * (d_out - sum of d_out * out) of each row.
std::vector<double> softmax_backward_reference(const std::vector<double>& d_out, const std::vector<double>& out,
                                               int64_t columns);

std::vector<KernelCase> softmax_cases();
std::vector<KernelCase> softmax_backward_cases();

}  // namespace athanor::kernels
