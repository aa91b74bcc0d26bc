// Names and shapes of the family of matrix products.
#include "kernels/matmul/matmul_product.h"

namespace athanor::kernels {

std::string name_of(const ProductKernel& kernel) {
  const Product product = kernel.product;
  std::string name = "matmul";
  if (product == Product::T) name += "_t";
  if (is_at(product)) name += "_at";
  if (kernel.accumulate == Accumulate::Yes && product != Product::Swiglu) name += "_acc";
  if (is_swiglu(product)) name += "_swiglu_a";
  if (kernel.dtype == DType::F16) name += "_w16";
  return name;
}

std::string formula_of(const ProductKernel& kernel) {
  const Product product = kernel.product;
  std::string formula = is_at(product) ? "Y[K,N] " : "Y[M,N] ";
  formula += kernel.accumulate == Accumulate::Yes ? "+= " : "= ";
  formula += is_swiglu(product) ? "(silu(GATE) * UP)[M,K]" : "X[M,K]";
  if (is_at(product)) {
    formula += "^T @ B[M,N]";
  } else {
    formula += product == Product::T ? " @ W[N,K]^T" : " @ W[K,N]";
  }
  if (kernel.dtype == DType::F16) {
    formula += is_at(product) ? (is_swiglu(product) ? ", GATE and UP in f16" : ", X in f16") : ", W in f16";
  }
  return formula;
}

std::vector<ProductKernel> product_kernels() {
  std::vector<ProductKernel> kernels;
  for (const DType dtype : {DType::F32, DType::F16}) {
    for (const Product product : {Product::Plain, Product::T, Product::At, Product::Swiglu, Product::AtSwiglu}) {
      kernels.push_back({product, Accumulate::No, dtype});
      if (product != Product::Swiglu) kernels.push_back({product, Accumulate::Yes, dtype});
    }
  }
  return kernels;
}

DType x_type(const ProductKernel& kernel) { return is_at(kernel.product) ? kernel.dtype : DType::F32; }
DType w_type(const ProductKernel& kernel) { return is_at(kernel.product) ? DType::F32 : kernel.dtype; }

Matrix x_matrix(Product product, const Extents& size) {
  return is_at(product) ? Matrix{size.sum, size.rows} : Matrix{size.rows, size.sum};
}

Matrix w_matrix(Product product, const Extents& size) {
  return product == Product::T ? Matrix{size.columns, size.sum} : Matrix{size.sum, size.columns};
}

int64_t matrix_bytes(const Matrix& matrix, DType dtype) { return (matrix.count() * size_of(dtype) + 3) / 4 * 4; }

}  // namespace athanor::kernels
