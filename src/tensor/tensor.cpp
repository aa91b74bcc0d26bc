// State of tensors and the summing of gradients.
#include "tensor/tensor.h"

#include "kernels/add/add.h"
#include "kernels/fp32_to_fp16/fp32_to_fp16.h"

namespace athanor::tensor {

struct Tensor::State {
  Buffer buffer;
  Shape shape;
  DType dtype = DType::F32;
  bool needs_gradient = false;
  Buffer gradient;         // what has been summed so far; empty: nothing
  bool is_shared = false;  // the gradient's buffer is also another tensor's: never write into it
  bool is_one = false;     // the gradient is a loss's 1
  Buffer place;            // where the gradient must lie; empty: anywhere
  Buffer scale;            // of the values; empty: not measured
  Buffer mirror;           // the values as f16; empty: none
};

Tensor::Tensor(Buffer buffer, const Shape& shape, DType dtype) : state_(std::make_shared<State>()) {
  const int64_t bytes = (shape.num_elements() * size_of(dtype) + 3) / 4 * 4;
  check(buffer && buffer.size_bytes() == bytes, "tensor: {} of shape {} needs {} bytes but the buffer has {}",
        name_of(dtype), shape.to_string(), bytes, buffer.size_bytes());
  state_->buffer = std::move(buffer);
  state_->shape = shape;
  state_->dtype = dtype;
}

const Shape& Tensor::shape() const { return state_->shape; }
DType Tensor::dtype() const { return state_->dtype; }
const Buffer& Tensor::buffer() const { return state_->buffer; }
void Tensor::set_needs_gradient(bool needs) { state_->needs_gradient = needs; }
bool Tensor::needs_gradient() const { return state_ && state_->needs_gradient; }
Buffer Tensor::gradient() const { return state_->gradient; }
Buffer* Tensor::kept_scale() const { return &state_->scale; }
void Tensor::values_changed() const { state_->scale = Buffer(); }

void Tensor::set_gradient_place(const Buffer& place) {
  check(place.size_bytes() == state_->buffer.size_bytes(),
        "tensor: a gradient of {} bytes does not fit values of {} bytes", place.size_bytes(),
        state_->buffer.size_bytes());
  state_->place = place;
}

void Tensor::set_mirror(const Buffer& halves) {
  const int64_t bytes = 4 * kernels::half_words(num_elements());
  check(halves.size_bytes() == bytes, "tensor: a mirror of {} bytes is no f16 copy of {} values; pass {} bytes",
        halves.size_bytes(), num_elements(), bytes);
  state_->mirror = halves;
}

const Buffer& Tensor::mirror() const { return state_->mirror; }

void Tensor::clear_gradient() {
  state_->gradient = Buffer();
  state_->is_shared = false;
  state_->is_one = false;
}

Tensor::GradientSlot Tensor::gradient_slot(Stream& stream) const {
  State& state = *state_;
  state.is_one = false;
  if (!state.gradient) {
    state.gradient = state.place ? state.place : stream.device().allocate(state.buffer.size_bytes(), "gradient");
    state.is_shared = false;
    return {state.gradient, Accumulate::No};
  }
  if (state.is_shared) {
    const Buffer own = stream.device().allocate(state.buffer.size_bytes(), "gradient");
    stream.copy(state.gradient, own);
    state.gradient = own;
    state.is_shared = false;
  }
  return {state.gradient, Accumulate::Yes};
}

void Tensor::add_gradient(Stream& stream, const Buffer& contribution) const {
  State& state = *state_;
  const int64_t count = state.shape.num_elements();
  state.is_one = false;
  if (!state.gradient) {
    if (state.place) {
      stream.copy(contribution, state.place);
      state.gradient = state.place;
    } else {
      state.gradient = contribution;
      state.is_shared = true;
    }
    return;
  }
  if (state.is_shared) {
    const Buffer sum = stream.device().allocate(state.buffer.size_bytes(), "gradient");
    kernels::add(stream, {state.gradient, contribution, sum, count});
    state.gradient = sum;
    state.is_shared = false;
    return;
  }
  kernels::gradient_accumulate(stream, {contribution, state.gradient, count});
}

void Tensor::replace_gradient(Stream& stream, const Buffer& whole) const {
  State& state = *state_;
  state.is_one = false;
  state.is_shared = false;
  state.gradient = state.place ? state.place : whole;
  if (state.place) stream.copy(whole, state.place);
}

void Tensor::set_gradient_to_one(Stream& stream) const {
  const Tensor one = from_values(stream, std::vector<float>{1.0F}, Shape{1}, "gradient of the loss");
  const bool is_first = !gradient();
  add_gradient(stream, one.buffer());
  state_->is_one = is_first;
}

bool Tensor::gradient_is_one() const { return state_->is_one; }

Tensor empty(Stream& stream, const Shape& shape, std::string_view label, DType dtype) {
  return {stream.device().allocate(shape.num_elements() * size_of(dtype), label), shape, dtype};
}

Tensor from_values(Stream& stream, std::span<const float> values, const Shape& shape, std::string_view label) {
  check(static_cast<int64_t>(values.size()) == shape.num_elements(), "{}: {} values do not fill the shape {}", label,
        values.size(), shape.to_string());
  Tensor tensor = empty(stream, shape, label);
  stream.upload(tensor.buffer(), std::as_bytes(values));
  return tensor;
}

Tensor from_ids(Stream& stream, std::span<const uint32_t> ids, std::string_view label) {
  Tensor tensor = empty(stream, Shape{static_cast<int64_t>(ids.size())}, label, DType::U32);
  stream.upload(tensor.buffer(), std::as_bytes(ids));
  return tensor;
}

std::vector<float> to_values(Stream& stream, const Tensor& tensor) { return to_values(stream, tensor.buffer()); }

std::vector<float> to_values(Stream& stream, const Buffer& buffer) {
  std::vector<float> values(static_cast<size_t>(buffer.size_bytes() / 4));
  stream.download(buffer, std::as_writable_bytes(std::span(values)));
  return values;
}

}  // namespace athanor::tensor
