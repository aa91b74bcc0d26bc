// What a table of choices (device/choices.h) may say of a product, by words that stand in its file. Another form of a kernel is one more
// name, and one question where it is chosen.
#pragma once

#include "device/choices.h"
#include "kernels/matmul/matmul_precision.h"
#include "kernels/matmul/matmul_product.h"

namespace athanor::kernels {

inline device::ChoiceSizes sizes_of(const Extents& size) { return {size.rows, size.columns, size.sum}; }

/// Whether a product that permits rounded factors runs on the matrix units.
inline constexpr std::array<std::string_view, 2> kUnitsAnswers = {"tiles", "units"};
inline std::string_view units_choice(MatMulPrecision precision) {
  return precision == MatMulPrecision::High ? "units_high" : "units_medium";
}

/// Whether a product in f32 is computed in tiles of 64 x 64 or of 128 x 128.
inline constexpr std::string_view kTilesChoice = "tiles";
inline constexpr std::array<std::string_view, 2> kTilesAnswers = {"narrow", "wide"};

/// Whether a product on the matrix units has its left operand made ready as panels.
inline constexpr std::array<std::string_view, 2> kPanelsAnswers = {"rows", "panels"};
inline std::string_view panels_choice(MatMulPrecision precision) {
  return precision == MatMulPrecision::High ? "panels_high" : "panels_medium";
}

/// Into how many parts the sums are cut: on the matrix units, or with Highest in the f32 tiles.
inline std::string_view parts_choice(MatMulPrecision precision) {
  if (precision == MatMulPrecision::Highest) return "parts";
  return precision == MatMulPrecision::High ? "parts_high" : "parts_medium";
}

}  // namespace athanor::kernels
