// Tensor: a shared handle to values on a device, with the gradient that a backward pass leaves in it.
#pragma once

#include "base/dtype.h"
#include "base/shape.h"
#include "device/device.h"
#include "kernels/accumulate.h"

#include <memory>
#include <span>
#include <vector>

namespace athanor::tensor {

using device::Buffer;
using device::Stream;
using kernels::Accumulate;

/// Copies share values and gradient, as in PyTorch and MLX. Values are row-major and dense.
class Tensor {
 public:
  Tensor() = default;
  /// Throws Error unless the buffer holds exactly the shape's values (rounded up to 4 bytes).
  Tensor(Buffer buffer, const Shape& shape, DType dtype = DType::F32);

  explicit operator bool() const { return state_ != nullptr; }
  const Shape& shape() const;
  DType dtype() const;
  const Buffer& buffer() const;
  int64_t num_elements() const { return shape().num_elements(); }

  /// Gives a weight its f16 mirror, kept up to date by its owner: products read it instead of the values, forward and backward.
  /// (half_words(elements)) u32. Throws Error for another size.
  void set_mirror(const Buffer& halves);
  /// Empty: there is none.
  const Buffer& mirror() const;

  /// A leaf that training changes: its gradient is kept after the backward pass.
  void set_needs_gradient(bool needs);
  bool needs_gradient() const;

  /// The gradient's values; an empty buffer while no backward pass has written any.
  Buffer gradient() const;
  /// Gives the gradient a place of its own (a part of a slab) that the first contribution of a step overwrites.
  void set_gradient_place(const Buffer& place);
  /// Forgets the gradient; a place given before is kept and counts as unwritten.
  void clear_gradient();

  /// Where products with rounded factors keep the scale of the values (kernels::MatMul), so that all that read them share one
  /// measurement. Who writes the values anew calls values_changed().
  Buffer* kept_scale() const;
  void values_changed() const;

  // For the backward functions of ops. All contributions are summed.

  struct GradientSlot {
    Buffer buffer;
    Accumulate accumulate = Accumulate::No;
  };
  /// Where a kernel that can add writes its contribution: Accumulate::No for the first one.
  GradientSlot gradient_slot(Stream& stream) const;
  /// Adds a finished contribution. The buffer may be shared with other tensors and is not written again.
  void add_gradient(Stream& stream, const Buffer& contribution) const;
  /// Puts `whole`, which no other tensor has, in the place of what was summed so far: a kernel has added that already.
  void replace_gradient(Stream& stream, const Buffer& whole) const;
  /// The gradient of a loss that ends the computation.
  void set_gradient_to_one(Stream& stream) const;
  /// True while the gradient is the 1 of set_gradient_to_one alone: whoever would multiply by it need not.
  bool gradient_is_one() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// A tensor of undefined values.
Tensor empty(Stream& stream, const Shape& shape, std::string_view label, DType dtype = DType::F32);
Tensor from_values(Stream& stream, std::span<const float> values, const Shape& shape,
                   std::string_view label = "values");
Tensor from_ids(Stream& stream, std::span<const uint32_t> ids, std::string_view label = "ids");
/// Waits for all work before it.
std::vector<float> to_values(Stream& stream, const Tensor& tensor);
std::vector<float> to_values(Stream& stream, const Buffer& buffer);

}  // namespace athanor::tensor
