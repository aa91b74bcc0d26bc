// Matrix products of the forward and backward pass. Row-major; a weight lies as [in, out], embedding and head as [V, C]. Sums are f32.
// The variant (vector or scalar loads, few rows, parts of a long sum) follows from the sizes and the table of choices in use
// (device/choices.h), never from timing.
#pragma once

#include "base/dtype.h"
#include "device/device.h"
#include "kernels/accumulate.h"
#include "kernels/matmul/matmul_precision.h"

namespace athanor::kernels {

// An f16 operand lies two halves a word; an odd count has one more half behind it, which is never used.
//
// precision High and Medium are permissions: large products of f32 operands take them where the adapter's matrix units multiply f16 with
// f32 sums; everything else is computed in f32 as with Highest. They round each operand times a power of two that max_magnitude finds.
// A field ..._scale names a place where it is kept: the first product that needs it fills an empty buffer there, later ones use it, and
// who changes the operand's values empties it. Without a place (nullptr) the product measures the operand for itself.

struct MatMul {
  device::Buffer x;  // (M, K) f32
  device::Buffer w;  // (K, N); for matmul_t (N, K)
  device::Buffer y;  // (M, N) f32, written or added to; neither x nor w
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  Accumulate accumulate = Accumulate::No;
  DType w_type = DType::F32;  // or F16
  MatMulPrecision precision = MatMulPrecision::Highest;
  device::Buffer* x_scale = nullptr;
  device::Buffer* w_scale = nullptr;
};

/// Y[M,N] (+)= X[M,K] @ W[K,N], summed in f32. Profiles call it matmul or matmul_acc, with f16 weights matmul_w16 or matmul_acc_w16.
/// Throws Error if a size is not positive, a buffer's size is not as in MatMul or the type of W is neither F32 nor F16.
void matmul(device::Stream& stream, const MatMul& args);

/// Y[M,N] (+)= X[M,K] @ W[N,K]^T: the gradient of a layer's input, and the head. Profiles call it matmul_t, matmul_t_acc, and _w16.
void matmul_t(device::Stream& stream, const MatMul& args);

struct MatMulAt {
  device::Buffer x;  // (M, K)
  device::Buffer b;  // (M, N) f32
  device::Buffer y;  // (K, N) f32, written or added to; neither x nor b
  int64_t k = 0;
  int64_t n = 0;
  int64_t m = 0;
  Accumulate accumulate = Accumulate::No;
  DType x_type = DType::F32;  // or F16: a saved activation
  MatMulPrecision precision = MatMulPrecision::Highest;
  device::Buffer* x_scale = nullptr;
  device::Buffer* b_scale = nullptr;
};

/// Y[K,N] (+)= X[M,K]^T @ B[M,N]: the gradient of a weight, summed over the M rows by a fixed tree. Profiles call it matmul_at,
/// matmul_at_acc, and _w16.
void matmul_at(device::Stream& stream, const MatMulAt& args);

struct MatMulSwiglu {
  device::Buffer gate;  // (M, K) f32
  device::Buffer up;    // (M, K) f32
  device::Buffer w;     // (K, N)
  device::Buffer y;     // (M, N) f32, written
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  DType w_type = DType::F32;  // or F16
  MatMulPrecision precision = MatMulPrecision::Highest;
  device::Buffer* gate_scale = nullptr;
  device::Buffer* up_scale = nullptr;
  device::Buffer* w_scale = nullptr;
};

/// Y[M,N] = (silu(GATE) * UP)[M,K] @ W[K,N]: the down projection, which needs no stored hidden matrix. silu(x) = x * sigmoid(x).
void matmul_swiglu_a(device::Stream& stream, const MatMulSwiglu& args);

struct MatMulAtSwiglu {
  device::Buffer gate;  // (M, K)
  device::Buffer up;    // (M, K)
  device::Buffer b;     // (M, N) f32
  device::Buffer y;     // (K, N) f32, written or added to
  int64_t k = 0;
  int64_t n = 0;
  int64_t m = 0;
  Accumulate accumulate = Accumulate::No;
  DType x_type = DType::F32;  // of gate and up; or F16
  MatMulPrecision precision = MatMulPrecision::Highest;
  device::Buffer* gate_scale = nullptr;
  device::Buffer* up_scale = nullptr;
  device::Buffer* b_scale = nullptr;
};

/// Y[K,N] (+)= (silu(GATE) * UP)[M,K]^T @ B[M,N]: the gradient of the down projection's weight, likewise. Profiles call it
/// matmul_at_swiglu_a, matmul_at_acc_swiglu_a, and _w16.
void matmul_at_swiglu_a(device::Stream& stream, const MatMulAtSwiglu& args);

}  // namespace athanor::kernels
