// What a product reads of a weight: the f16 mirror where there is one, so that forward and backward see the same numbers.
#pragma once

#include "tensor/tensor.h"

namespace athanor::tensor {

struct ProductWeight {
  Buffer buffer;
  DType type = DType::F32;
};

inline ProductWeight product_weight(const Tensor& w) {
  if (w.mirror()) return {w.mirror(), DType::F16};
  return {w.buffer(), w.dtype()};
}

}  // namespace athanor::tensor
