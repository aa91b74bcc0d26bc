// The plain loops in double precision that judge the matrix products.
#pragma once

#include <cstdint>
#include <vector>

namespace athanor::kernels {

/// Y[M,N] = X[M,K] @ W[K,N].
std::vector<double> matmul_reference(const std::vector<double>& x, const std::vector<double>& w, int64_t m, int64_t n,
                                     int64_t k);
/// Y[M,N] = X[M,K] @ W[N,K]^T.
std::vector<double> matmul_t_reference(const std::vector<double>& x, const std::vector<double>& w, int64_t m, int64_t n,
                                       int64_t k);
/// Y[K,N] = X[M,K]^T @ B[M,N].
std::vector<double> matmul_at_reference(const std::vector<double>& x, const std::vector<double>& b, int64_t k,
                                        int64_t n, int64_t m);
/// silu(gate) * up, value by value.
std::vector<double> swiglu_hidden_reference(const std::vector<double>& gate, const std::vector<double>& up);

}  // namespace athanor::kernels
