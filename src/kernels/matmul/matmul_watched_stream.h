// For tests of the launcher of the products.
#pragma once

#include "kernels/matmul/matmul_product.h"
#include "kernels/watched_stream.h"

namespace athanor::kernels {

/// A call whose buffers are there but hold nothing, for a WatchedStream.
inline ProductCall empty_call(device::Stream& stream, const ProductKernel& kernel, const Extents& size) {
  const auto allocate = [&](const Matrix& matrix, DType dtype) {
    return stream.device().allocate(matrix_bytes(matrix, dtype), "watched operand");
  };
  const Matrix x = x_matrix(kernel.product, size);
  ProductCall call{kernel, {}, {}, {}, {}, size};
  call.x = allocate(x, x_type(kernel));
  if (is_swiglu(kernel.product)) call.up = allocate(x, x_type(kernel));
  call.w = allocate(w_matrix(kernel.product, size), w_type(kernel));
  call.y = allocate(y_matrix(size), DType::F32);
  return call;
}

}  // namespace athanor::kernels
