// The operands of a matrix product on the CPU, panel by panel: where they lie as f32 in memory, or made in a worker's own block when
// they are f16 or the hidden matrix silu(gate) * up. No operand is ever expanded as a whole.
#pragma once

#include "kernels/matmul/matmul_product.h"

namespace athanor::kernels {

/// Part of an operand as OpenBLAS reads it.
struct Panel {
  const float* values;
  int64_t stride;  // values from one row to the next
};

/// X [rows, sum], or [sum, rows] in X^T B.
class LeftOperand {
 public:
  explicit LeftOperand(const ProductCall& call);
  /// Whether panels are made in memory of the caller.
  bool is_made() const { return up_ != nullptr || half_; }
  /// block: rows * terms floats, if is_made().
  Panel panel(int64_t row, int64_t rows, int64_t term, int64_t terms, float* block) const;

 private:
  const void* x_;
  const void* up_;  // nullptr unless X is silu(gate) * up
  bool half_;
  bool transposed_;
  int64_t stride_;
};

/// W [sum, columns], or [columns, sum] in X W^T.
class RightOperand {
 public:
  explicit RightOperand(const ProductCall& call);
  bool is_made() const { return half_; }
  /// block: columns * terms floats, if is_made().
  Panel panel(int64_t column, int64_t columns, int64_t term, int64_t terms, float* block) const;

 private:
  const void* w_;
  bool half_;
  bool transposed_;
  int64_t stride_;
};

/// to[rows, columns] = a block of a matrix of halves whose rows are `stride` apart.
void widen_block(const uint16_t* from, float* to, const Matrix& size, int64_t stride);

/// hidden[rows, columns] = silu(gate) * up of a block of matrices whose rows are `stride` apart.
void hidden_block(const float* gate, const float* up, float* hidden, const Matrix& size, int64_t stride);

}  // namespace athanor::kernels
