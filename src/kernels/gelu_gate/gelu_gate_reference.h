// The plain loops in double precision that judge gelu_gate, its cases and benchmarks.
#pragma once

#include "kernels/gelu/gelu.h"
#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

/// gelu(gate) * up.
std::vector<double> gelu_gate_reference(const std::vector<double>& gate, const std::vector<double>& up, GeluForm form);

struct GeluGateGradients {
  std::vector<double> d_gate;
  std::vector<double> d_up;
};
GeluGateGradients gelu_gate_backward_reference(const std::vector<double>& d_out, const std::vector<double>& gate,
                                               const std::vector<double>& up, GeluForm form);

std::vector<KernelCase> gelu_gate_cases();
std::vector<KernelCase> gelu_gate_backward_cases();

KernelBench bench_gelu_gate(device::Stream& stream, int64_t bytes);
KernelBench bench_gelu_gate_backward(device::Stream& stream, int64_t bytes);

}  // namespace athanor::kernels
