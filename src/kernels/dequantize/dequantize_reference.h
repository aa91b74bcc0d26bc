// The plain loops in double precision that judge dequantize and affine_dequantize, and their cases.
#pragma once

#include "kernels/dequantize/affine_layout.h"
#include "kernels/kernel_info.h"

#include <cstdint>
#include <span>
#include <vector>

namespace athanor::kernels {

/// Byte i of q, the lowest byte of each u32 first.
std::vector<double> dequantize_reference(const std::vector<uint32_t>& q, int64_t count);

/// Scales or biases as values: their bits as MLX stores them, whole u32.
std::vector<double> scales_reference(const std::vector<uint32_t>& words, int64_t count, DType scale_type);

/// q * scale + bias, of rows that are whole groups.
std::vector<double> affine_dequantize_reference(const std::vector<uint32_t>& q, const std::vector<double>& scales,
                                                const std::vector<double>& biases, const AffineLayout& layout);

/// Random operands in a layout: every bit of q is used; scales are of both signs and some are subnormal as halves.
struct AffineOperands {
  std::vector<uint32_t> q;
  std::vector<uint32_t> scales;
  std::vector<uint32_t> biases;
};
AffineOperands random_affine_operands(int64_t rows, int64_t columns, const AffineLayout& layout, uint32_t seed);

std::vector<KernelCase> dequantize_cases();
std::vector<KernelCase> affine_dequantize_cases();

}  // namespace athanor::kernels
