// Products with quantised weights, which stay as they are stored: each is unpacked on its way into the sum.
#pragma once

#include "device/device.h"
#include "kernels/dequantize/affine_layout.h"

namespace athanor::kernels {

/// How the rows of W are stored: MLX's affine groups, or a block type of ggml under its own name.
enum class WeightFormat { Affine, Q8_0, Q6_K, Q4_0, Q4_1, Q4_K };

struct MatMulQuantized {
  device::Buffer x;       // (M, K) f32
  device::Buffer w;       // N rows of K values in `format`, one behind the other, filled up to whole u32
  device::Buffer scales;  // (N, K / layout.group) for Affine, as in AffineDequantize; else empty
  device::Buffer biases;  // the same
  device::Buffer y;       // (M, N) f32, written
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  WeightFormat format = WeightFormat::Affine;
  AffineLayout layout;  // of Affine
};

/// Y[M,N] = X[M,K] @ W[N,K]^T, summed in f32, for weights of more than four bits: Affine of 8 bits, Q8_0, Q6_K.
/// K is a multiple of the group, or of the block: 32 values in Q8_0, 256 in Q6_K.
/// Throws Error for a format of matmul_q4, a K that is no whole number of blocks, or a buffer whose size is not as in MatMulQuantized.
void matmul_q8(device::Stream& stream, const MatMulQuantized& args);

/// The same for weights of four bits: Affine of 4 bits, Q4_0 and Q4_1 (blocks of 32 values), Q4_K (256).
void matmul_q4(device::Stream& stream, const MatMulQuantized& args);

/// Bytes of W with `n` rows of `k` values, filled up to whole u32.
int64_t quantized_bytes(WeightFormat format, const AffineLayout& layout, int64_t n, int64_t k);

}  // namespace athanor::kernels
