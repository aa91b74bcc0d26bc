// What the ops share: checks of their operands, and the place to which a backward function writes.
#pragma once

#include "tensor/tensor.h"

#include <string_view>

namespace athanor::tensor {

/// Throws Error unless the tensor is there and holds f32 values.
void check_values(std::string_view op, std::string_view name, const Tensor& tensor);

/// Throws Error unless both hold f32 values and have one shape.
void check_one_shape(std::string_view op, std::string_view a_name, const Tensor& a, std::string_view b_name,
                     const Tensor& b);

/// Where a kernel that only assigns writes its contribution to the gradient of one tensor: straight to the gradient's own place when it
/// is the first contribution, else to a buffer that finish() adds. Nothing when the tensor needs no gradient.
class Contribution {
 public:
  Contribution(Stream& stream, const Tensor& tensor, std::string_view label);

  /// Empty when no gradient is needed.
  const Buffer& buffer() const { return buffer_; }
  /// After the launch that wrote the buffer.
  void finish(Stream& stream) const;

 private:
  Tensor tensor_;
  Buffer buffer_;
  bool is_added_ = false;  // the buffer is not the gradient itself
};

}  // namespace athanor::tensor
