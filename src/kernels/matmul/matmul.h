// Matrix products of the forward and backward pass. Row-major f32; a weight lies as [in, out], embedding and head as
// [V, C]. The variant (vector or scalar loads, few rows, parts of a long sum) follows from the sizes alone, never from
// timing.
#pragma once

#include "device/device.h"
#include "kernels/accumulate.h"

namespace athanor::kernels {

struct MatMul {
  device::Buffer x;  // (M, K)
  device::Buffer w;  // (K, N); for matmul_t (N, K)
  device::Buffer y;  // (M, N), written or added to; neither x nor w
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  Accumulate accumulate = Accumulate::No;
};

/// Y[M,N] (+)= X[M,K] @ W[K,N], summed in f32. Profiles call it matmul or matmul_acc.
/// Throws Error if a size is not positive or a buffer's size is not as in MatMul.
void matmul(device::Stream& stream, const MatMul& args);

/// Y[M,N] (+)= X[M,K] @ W[N,K]^T: the gradient of a layer's input, and the head. Profiles call it matmul_t or
/// matmul_t_acc.
void matmul_t(device::Stream& stream, const MatMul& args);

struct MatMulAt {
  device::Buffer x;  // (M, K)
  device::Buffer b;  // (M, N)
  device::Buffer y;  // (K, N), written or added to; neither x nor b
  int64_t k = 0;
  int64_t n = 0;
  int64_t m = 0;
  Accumulate accumulate = Accumulate::No;
};

/// Y[K,N] (+)= X[M,K]^T @ B[M,N]: the gradient of a weight, summed over the M rows by a fixed tree.
/// Profiles call it matmul_at or matmul_at_acc.
void matmul_at(device::Stream& stream, const MatMulAt& args);

struct MatMulSwiglu {
  device::Buffer gate;  // (M, K)
  device::Buffer up;    // (M, K)
  device::Buffer w;     // (K, N)
  device::Buffer y;     // (M, N), written
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};

/// Y[M,N] = (silu(GATE) * UP)[M,K] @ W[K,N]: the down projection, which needs no stored hidden matrix. silu(x) = x *
/// sigmoid(x).
void matmul_swiglu_a(device::Stream& stream, const MatMulSwiglu& args);

struct MatMulAtSwiglu {
  device::Buffer gate;  // (M, K)
  device::Buffer up;    // (M, K)
  device::Buffer b;     // (M, N)
  device::Buffer y;     // (K, N), written or added to
  int64_t k = 0;
  int64_t n = 0;
  int64_t m = 0;
  Accumulate accumulate = Accumulate::No;
};

/// Y[K,N] (+)= (silu(GATE) * UP)[M,K]^T @ B[M,N]: the gradient of the down projection's weight, likewise.
/// Profiles call it matmul_at_swiglu_a or matmul_at_acc_swiglu_a.
void matmul_at_swiglu_a(device::Stream& stream, const MatMulAtSwiglu& args);

}  // namespace athanor::kernels
