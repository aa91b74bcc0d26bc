// The plain loops in double precision that judge embedding, and its cases.
#pragma once

#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

/// table[ids[row]] for each row; table (V, columns).
std::vector<double> embedding_reference(const std::vector<double>& table, const std::vector<uint32_t>& ids,
                                        int64_t columns);

/// d_table (V, columns): for each id the sum of d_out over its positions.
std::vector<double> embedding_backward_reference(const std::vector<double>& d_out, const std::vector<uint32_t>& ids,
                                                 int64_t columns, int64_t vocabulary);

std::vector<KernelCase> embedding_cases();
std::vector<KernelCase> embedding_backward_cases();

}  // namespace athanor::kernels
