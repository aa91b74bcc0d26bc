// The plain loops in double precision that judge mul, its cases and benchmarks.
#pragma once

#include "kernels/broadcast/broadcast_cases.h"
#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

/// a * b; b.size() divides a.size(), and b meets each row of a.
std::vector<double> mul_reference(const std::vector<double>& a, const std::vector<double>& b);

BroadcastGradients mul_backward_reference(const std::vector<double>& d_out, const std::vector<double>& a,
                                          const std::vector<double>& b);

std::vector<KernelCase> mul_cases();
std::vector<KernelCase> mul_backward_cases();

KernelBench bench_mul(device::Stream& stream, int64_t bytes);
KernelBench bench_mul_backward(device::Stream& stream, int64_t bytes);

}  // namespace athanor::kernels
