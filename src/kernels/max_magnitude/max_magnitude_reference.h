// The plain loop in double precision that judges max_magnitude, and its cases.
#pragma once

#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

/// The power of two that puts the largest magnitude into [2^14, 2^15), at most 2^126, and its inverse.
std::vector<double> max_magnitude_reference(const std::vector<double>& values);

std::vector<KernelCase> max_magnitude_cases();

}  // namespace athanor::kernels
