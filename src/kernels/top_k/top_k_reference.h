// The plain loop that judges top_k, and its cases.
#pragma once

#include "kernels/kernel_info.h"

#include <cstdint>
#include <vector>

namespace athanor::kernels {

/// Indices of the k largest values of each row of `columns`, the largest first, of equal ones the lower index first.
std::vector<uint32_t> top_k_reference(const std::vector<double>& x, int64_t columns, int64_t k);

std::vector<KernelCase> top_k_cases();

}  // namespace athanor::kernels
