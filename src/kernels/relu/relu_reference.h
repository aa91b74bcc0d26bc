// The plain loops in double precision that judge relu, its cases and benchmarks.
#pragma once

#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

/// max(x, 0), value by value.
std::vector<double> relu_reference(const std::vector<double>& x);
std::vector<double> relu_backward_reference(const std::vector<double>& d_out, const std::vector<double>& x);

std::vector<KernelCase> relu_cases();
std::vector<KernelCase> relu_backward_cases();

KernelBench bench_relu(device::Stream& stream, int64_t bytes);
KernelBench bench_relu_backward(device::Stream& stream, int64_t bytes);

}  // namespace athanor::kernels
