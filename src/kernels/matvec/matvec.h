// The product of one row with a weight, as in decoding, with what stands before and behind it in a block: one launch instead of two or three.
#pragma once

#include "device/device.h"
#include "kernels/accumulate.h"

namespace athanor::kernels {

/// What is multiplied with W.
enum class MatVecOperand {
  Plain,    // x
  RmsNorm,  // x * factor / sqrt(mean(x^2) + eps)
  Swiglu,   // silu(x) * factor: x is the gate
};

enum class MatVecWeight { F32, F16, Q8_0 };

struct MatVec {
  device::Buffer x;       // (K) f32
  device::Buffer factor;  // (K) f32; empty for Plain
  device::Buffer w;  // (N, K): f32, f16 (half_words(N * K) u32), or rows of ggml's Q8_0 blocks filled up to whole u32
  device::Buffer y;  // (N) f32, written or added to; none of the others
  int64_t n = 0;
  int64_t k = 0;  // whole blocks of 32 for Q8_0
  MatVecOperand operand = MatVecOperand::Plain;
  MatVecWeight weight = MatVecWeight::F32;
  Accumulate accumulate = Accumulate::No;  // Yes: y is the residual stream
  float eps = 1e-5F;                       // of RmsNorm
};

/// y[N] (+)= operand[K] @ W[N,K]^T, summed in f32 by a fixed tree. Throws Error if a size is not positive, a buffer's size is not as in
/// MatVec, or K is no whole number of blocks.
void matvec(device::Stream& stream, const MatVec& args);

}  // namespace athanor::kernels
