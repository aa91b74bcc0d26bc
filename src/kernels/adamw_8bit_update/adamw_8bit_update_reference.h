// The plain loop in double precision that judges adamw_8bit_update, and its cases.
#pragma once

#include "kernels/adamw_8bit_update/adamw_8bit_update.h"
#include "kernels/kernel_info.h"

#include <array>
#include <vector>

namespace athanor::kernels {

/// The index of the value nearest to x, which must be one of the upper `256 - least`, by looking at them all.
size_t nearest_code_reference(const std::array<float, 256>& values, double x, size_t least);

/// What a buffer of codes and scales holds, in double, for the elements of the segments; zero elsewhere. `which`: 0 for m, 1 for v.
std::vector<double> dequantized_reference(const std::vector<uint32_t>& codes, const std::vector<float>& scales,
                                          size_t which, const std::vector<Segment>& segments, int64_t count);

std::vector<KernelCase> adamw_8bit_update_cases();

}  // namespace athanor::kernels
