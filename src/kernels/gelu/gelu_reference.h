// The plain loops in double precision that judge gelu, its cases and benchmarks.
#pragma once

#include "kernels/elementwise_cases.h"
#include "kernels/gelu/gelu.h"
#include "kernels/kernel_info.h"

#include <functional>
#include <vector>

namespace athanor::kernels {

std::vector<double> gelu_reference(const std::vector<double>& x, GeluForm form);
std::vector<double> gelu_backward_reference(const std::vector<double>& d_out, const std::vector<double>& x,
                                            GeluForm form);

/// One value, and its slope.
double gelu_reference(double x, GeluForm form);
double gelu_slope_reference(double x, GeluForm form);

std::vector<KernelCase> gelu_cases();
std::vector<KernelCase> gelu_backward_cases();

/// The elementwise cases in both forms; their names begin with "erf, " or "tanh, ".
std::vector<KernelCase> cases_of_forms(
    const std::function<CaseResult(device::Stream&, const ElementwiseSize&, GeluForm)>& run);

KernelBench bench_gelu(device::Stream& stream, int64_t bytes);
KernelBench bench_gelu_backward(device::Stream& stream, int64_t bytes);

}  // namespace athanor::kernels
