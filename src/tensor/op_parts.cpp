// Checks of operands, and contributions to gradients.
#include "tensor/op_parts.h"

#include "base/error.h"

namespace athanor::tensor {

void check_values(std::string_view op, std::string_view name, const Tensor& tensor) {
  check(static_cast<bool>(tensor), "{}: {} is missing; pass a tensor", op, name);
  check(tensor.dtype() == DType::F32, "{}: {} holds {} but the op computes with F32; pass a tensor of that type", op,
        name, name_of(tensor.dtype()));
}

void check_one_shape(std::string_view op, std::string_view a_name, const Tensor& a, std::string_view b_name,
                     const Tensor& b) {
  check_values(op, a_name, a);
  check_values(op, b_name, b);
  check(a.shape() == b.shape(), "{}: {} is {} but {} is {}; pass two of one shape", op, a_name, a.shape().to_string(),
        b_name, b.shape().to_string());
}

Contribution::Contribution(Stream& stream, const Tensor& tensor, std::string_view label) : tensor_(tensor) {
  if (!tensor.needs_gradient()) return;
  is_added_ = static_cast<bool>(tensor.gradient());
  buffer_ =
      is_added_ ? stream.device().allocate(tensor.buffer().size_bytes(), label) : tensor.gradient_slot(stream).buffer;
}

void Contribution::finish(Stream& stream) const {
  if (is_added_) tensor_.add_gradient(stream, buffer_);
}

}  // namespace athanor::tensor
