// The plain loops in double precision that judge matvec, and its cases.
#pragma once

#include "kernels/kernel_info.h"
#include "kernels/matvec/matvec.h"

#include <vector>

namespace athanor::kernels {

/// What is multiplied with W: x (K) and factor (K), which Plain does not look at.
std::vector<double> matvec_operand_reference(MatVecOperand operand, const std::vector<double>& x,
                                             const std::vector<double>& factor, double eps);

struct MatVecSizes {
  int64_t n;
  int64_t k;
  MatVecOperand operand = MatVecOperand::Plain;
  MatVecWeight weight = MatVecWeight::F32;
  Accumulate accumulate = Accumulate::No;
};

/// One case; a binding limit below W's bytes cuts it into parts (WebGPU), 0: that of the device.
CaseResult run_matvec_case(device::Stream& stream, const MatVecSizes& sizes, int64_t max_binding_bytes = 0);

std::vector<KernelCase> matvec_cases();

}  // namespace athanor::kernels
