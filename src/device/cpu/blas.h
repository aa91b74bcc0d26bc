// Row-major single-threaded f32 matrix product by OpenBLAS; kernels split the work over the thread pool themselves.
#pragma once

#include <cstdint>
#include <string>

namespace athanor::device::cpu {

enum class Transpose { No, Yes };

/// c[m x n] = a[m x k] @ b[k x n] + beta * c, each operand with its row stride in elements; a transposed operand is stored
/// [k x m] (a) or [n x k] (b). Safe to call from several threads at once.
void sgemm(Transpose a_transpose, Transpose b_transpose, int64_t m, int64_t n, int64_t k, const float* a,
           int64_t a_stride, const float* b, int64_t b_stride, float beta, float* c, int64_t c_stride);

/// Name, version and the processor that its kernels are for: "OpenBLAS 0.3.34 SkylakeX".
std::string blas_description();

}  // namespace athanor::device::cpu
