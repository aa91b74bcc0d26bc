// How the factors of a matrix product are rounded; PyTorch's names (float32_matmul_precision).
#pragma once

#include <optional>
#include <string_view>

namespace athanor::kernels {

enum class MatMulPrecision {
  Highest,  // f32 throughout
  High,     // each f32 in two f16, x = hi + lo, three products on the matrix units, sums in f32
  Medium,   // each f32 rounded to one f16, one product, sums in f32
};

/// "highest", "high", "medium".
inline std::string_view name_of(MatMulPrecision precision) {
  switch (precision) {
    case MatMulPrecision::Highest:
      return "highest";
    case MatMulPrecision::High:
      return "high";
    case MatMulPrecision::Medium:
      break;
  }
  return "medium";
}

/// The precision of this name, if there is one.
inline std::optional<MatMulPrecision> matmul_precision_of(std::string_view name) {
  for (const MatMulPrecision precision : {MatMulPrecision::Highest, MatMulPrecision::High, MatMulPrecision::Medium}) {
    if (name == name_of(precision)) return precision;
  }
  return std::nullopt;
}

}  // namespace athanor::kernels
