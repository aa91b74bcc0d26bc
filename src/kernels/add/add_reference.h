// The plain loops in double precision that judge add, sub, their gradients and gradient_accumulate; their cases and benchmarks.
#pragma once

#include "kernels/broadcast/broadcast_cases.h"
#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

/// a + b and a - b; b.size() divides a.size(), and b meets each row of a.
std::vector<double> add_reference(const std::vector<double>& a, const std::vector<double>& b);
std::vector<double> sub_reference(const std::vector<double>& a, const std::vector<double>& b);

/// d_b has b_size values.
BroadcastGradients add_backward_reference(const std::vector<double>& d_out, size_t b_size);
BroadcastGradients sub_backward_reference(const std::vector<double>& d_out, size_t b_size);

std::vector<KernelCase> add_cases();
std::vector<KernelCase> sub_cases();
std::vector<KernelCase> add_backward_cases();
std::vector<KernelCase> sub_backward_cases();
std::vector<KernelCase> gradient_accumulate_cases();

KernelBench bench_add(device::Stream& stream, int64_t bytes);
KernelBench bench_sub(device::Stream& stream, int64_t bytes);
KernelBench bench_add_backward(device::Stream& stream, int64_t bytes);
KernelBench bench_sub_backward(device::Stream& stream, int64_t bytes);
KernelBench bench_gradient_accumulate(device::Stream& stream, int64_t bytes);

}  // namespace athanor::kernels
