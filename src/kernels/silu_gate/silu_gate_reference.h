// The plain loops in double precision that judge silu_gate, its cases and benchmarks.
#pragma once

#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

/// silu(gate) * up.
std::vector<double> silu_gate_reference(const std::vector<double>& gate, const std::vector<double>& up);

struct SiluGateGradients {
  std::vector<double> d_gate;
  std::vector<double> d_up;
};
SiluGateGradients silu_gate_backward_reference(const std::vector<double>& d_out, const std::vector<double>& gate,
                                               const std::vector<double>& up);

std::vector<KernelCase> silu_gate_cases();
std::vector<KernelCase> silu_gate_backward_cases();

KernelBench bench_silu_gate(device::Stream& stream, int64_t bytes);
KernelBench bench_silu_gate_backward(device::Stream& stream, int64_t bytes);

}  // namespace athanor::kernels
