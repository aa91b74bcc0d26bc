// The sizes the matrix products are tried at, and what one trial is.
#pragma once

#include "kernels/kernel_info.h"
#include "kernels/matmul/matmul_product.h"

#include <functional>

namespace athanor::kernels {

/// Operands of a product on the host: normal values, those of an f16 operand rounded to halves.
struct ProductOperands {
  std::vector<float> x;  // X, or gate
  std::vector<float> up;
  std::vector<float> w;       // W or B
  std::vector<float> before;  // what an addition finds in Y
};

/// What a case's values are like, and how its factors may be rounded.
struct ProductTrial {
  float gate_scale = 3.0F;   // gates are normal values times it
  float x_magnitude = 1.0F;  // of X, or of the gates besides gate_scale
  float w_magnitude = 1.0F;
  MatMulPrecision precision = MatMulPrecision::Highest;
};
ProductOperands make_operands(const ProductKernel& kernel, const Extents& size, const ProductTrial& trial = {});

/// The operands on the device; Y holds NaN, or what an addition finds.
ProductCall upload_call(device::Stream& stream, const ProductKernel& kernel, const Extents& size,
                        const ProductOperands& operands);

/// A call whose operands hold whatever they hold: for a dry device, and for what is not computed.
ProductCall empty_call(device::Stream& stream, const ProductKernel& kernel, const Extents& size);

/// What the plain loops make of the operands.
std::vector<double> expected_product(const ProductKernel& kernel, const Extents& size, const ProductOperands& operands);

/// Makes operands, launches, compares with the plain loop.
CaseResult run_product_case(device::Stream& stream, const ProductKernel& kernel, const Extents& size,
                            const std::function<void(const ProductCall&)>& launch, const ProductTrial& trial = {});

/// Every size for one kernel of the family, launched through its door.
std::vector<KernelCase> matmul_cases(const ProductKernel& kernel);

}  // namespace athanor::kernels
