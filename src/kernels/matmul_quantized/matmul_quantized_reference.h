// The plain loops in double precision that judge the quantised products, and their cases.
#pragma once

#include "kernels/kernel_info.h"
#include "kernels/matmul_quantized/matmul_quantized.h"

#include <cstdint>
#include <vector>

namespace athanor::kernels {

/// `count` values of ggml blocks as its definitions give them, one by one. bytes: whole blocks.
std::vector<double> blocks_reference(WeightFormat format, const std::vector<uint8_t>& bytes, int64_t count);

/// Y[M,N] = X[M,K] @ W[N,K]^T with W already as values.
std::vector<double> quantized_product_reference(const std::vector<double>& x, const std::vector<double>& w, int64_t m,
                                                int64_t n, int64_t k);

std::vector<KernelCase> matmul_q8_cases();
std::vector<KernelCase> matmul_q4_cases();

}  // namespace athanor::kernels
