// The plain loop that judges dropout, and its cases.
#pragma once

#include "kernels/dropout/dropout.h"
#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

/// The number in [0, 2^32) that decides about one element, as dropout.h defines it.
uint32_t dropout_number(const DropoutKey& key, int64_t row, int64_t element);

/// x / (1 - p) where an element is kept, else 0; of (rows, columns) values. The gradient is the same of d_out.
std::vector<double> dropout_reference(const std::vector<double>& x, int64_t columns, float p, const DropoutKey& key);

std::vector<KernelCase> dropout_cases();
std::vector<KernelCase> dropout_backward_cases();

}  // namespace athanor::kernels
