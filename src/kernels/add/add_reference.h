// The plain loop in double precision that judges add and gradient_accumulate, and their cases.
#pragma once

#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

/// a + b, value by value.
std::vector<double> add_reference(const std::vector<double>& a, const std::vector<double>& b);

std::vector<KernelCase> add_cases();
std::vector<KernelCase> gradient_accumulate_cases();

}  // namespace athanor::kernels
