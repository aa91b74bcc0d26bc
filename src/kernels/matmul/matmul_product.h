// The family of the matrix products, for its launchers, cases and benchmarks: which kernel, and a call of one.
#pragma once

#include "base/dtype.h"
#include "device/buffer.h"
#include "kernels/accumulate.h"
#include "kernels/matmul/matmul_precision.h"

#include <cstdint>
#include <string>
#include <vector>

namespace athanor::kernels {

/// X W, X W^T, X^T B, and with X = silu(gate) * up: X W, X^T B.
enum class Product { Plain, T, At, Swiglu, AtSwiglu };

inline bool is_swiglu(Product product) { return product == Product::Swiglu || product == Product::AtSwiglu; }
inline bool is_at(Product product) { return product == Product::At || product == Product::AtSwiglu; }

/// One kernel of the family.
struct ProductKernel {
  Product product = Product::Plain;
  Accumulate accumulate = Accumulate::No;
  DType dtype = DType::F32;  // of W; where there is no W, of X, or of gate and up. F16: the kernels _w16
};

/// Name in the table, profiles and errors: "matmul_at_acc_swiglu_a_w16". Adding to Y has no name of its own in matmul_swiglu_a.
std::string name_of(const ProductKernel& kernel);
/// "Y[M,N] += X[M,K] @ W[K,N], W in f16"
std::string formula_of(const ProductKernel& kernel);
/// All that have a name: five products, four of which also add, each with f32 and f16.
std::vector<ProductKernel> product_kernels();

DType x_type(const ProductKernel& kernel);
DType w_type(const ProductKernel& kernel);

struct Matrix {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t count() const { return rows * columns; }
};

/// Rows and columns of Y, and the terms of each value. M, N, K of the products with W; K, N, M of X^T B.
struct Extents {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t sum = 0;
  double flops() const {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(sum);
  }
  bool operator==(const Extents&) const = default;
};

Matrix x_matrix(Product product, const Extents& size);
Matrix w_matrix(Product product, const Extents& size);
inline Matrix y_matrix(const Extents& size) { return {size.rows, size.columns}; }

/// The operands' scales (max_magnitude): where a caller keeps them, or buffers of them.
template <typename T>
struct OperandScales {
  T x{};   // of X, or of gate
  T up{};  // of up
  T w{};   // of W or B; none where it is f16
};

struct ProductCall {
  ProductKernel kernel;
  device::Buffer x;   // X, or gate
  device::Buffer up;  // empty unless X is silu(gate) * up
  device::Buffer w;   // W or B
  device::Buffer y;
  Extents size;
  MatMulPrecision precision = MatMulPrecision::Highest;
  OperandScales<device::Buffer*> kept = {};
  OperandScales<device::Buffer> scales = {};  // filled by the door of a call that takes the matrix units
};

/// Bytes of a matrix: halves lie two in a word, and an odd last one has a word to itself.
int64_t matrix_bytes(const Matrix& matrix, DType dtype);

}  // namespace athanor::kernels
