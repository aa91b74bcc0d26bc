// The plain loops in double precision that judge silu_gate, and its cases.
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

}  // namespace athanor::kernels
