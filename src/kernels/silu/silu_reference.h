// The plain loops in double precision that judge silu, its cases and benchmarks.
#pragma once

#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

/// x / (1 + e^-x), value by value.
std::vector<double> silu_reference(const std::vector<double>& x);
std::vector<double> silu_backward_reference(const std::vector<double>& d_out, const std::vector<double>& x);

std::vector<KernelCase> silu_cases();
std::vector<KernelCase> silu_backward_cases();

KernelBench bench_silu(device::Stream& stream, int64_t bytes);
KernelBench bench_silu_backward(device::Stream& stream, int64_t bytes);

}  // namespace athanor::kernels
