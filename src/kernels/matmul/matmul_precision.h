// How the factors of a matrix product are rounded; PyTorch's names (float32_matmul_precision).
#pragma once

namespace athanor::kernels {

enum class MatMulPrecision {
  Highest,  // f32 throughout
  High,     // each f32 in two f16, x = hi + lo, three products on the matrix units, sums in f32
  Medium,   // each f32 rounded to one f16, one product, sums in f32
};

}  // namespace athanor::kernels
