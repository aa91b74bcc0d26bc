// Rows of quantised weights to f32 on the CPU: a few rows at a time into the cache, never the whole matrix.
#pragma once

#include "kernels/matmul_quantized/matmul_quantized.h"

#include <cstdint>

namespace athanor::kernels {

/// W as it lies in memory.
struct PackedWeights {
  WeightFormat format = WeightFormat::Affine;
  AffineLayout layout;
  const uint8_t* w = nullptr;
  const void* scales = nullptr;  // of Affine
  const void* biases = nullptr;
  int64_t k = 0;  // values of a row
};

/// out (rows, K) = rows `first` to first + rows - 1 of W.
void decode_rows(const PackedWeights& weights, int64_t first, int64_t rows, float* out);

}  // namespace athanor::kernels
