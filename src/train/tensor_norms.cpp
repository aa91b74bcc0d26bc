// The kernel of the gradients' norm serves all three: it sums squares of any slab, tensor by tensor.
#include "train/tensor_norms.h"

#include "kernels/add/add.h"

#include <cmath>

namespace athanor::train {

TensorNormMeter::TensorNormMeter(device::Stream& stream, const nn::Parameters& parameters) : parameters_(&parameters) {
  device::Device& device = stream.device();
  for (size_t index = 0; index < parameters.slabs().size(); ++index) {
    Slab& slab = slabs_.emplace_back();
    slab.table = kernels::upload_norm_table(stream, segments_of(parameters, index, 0));
    slab.partial = device.allocate(slab.table.block_count * 4, "partial norms");
    slab.weight_sums = device.allocate(slab.table.tensor_count * 4, "weight norms of tensors");
    slab.update_sums = device.allocate(slab.table.tensor_count * 4, "update norms of tensors");
  }
  for (size_t i = 0; i < parameters.all().size(); ++i)
    slabs_[static_cast<size_t>(parameters.all()[i].slab)].tensors.push_back(i);
  sums_ = device.allocate(static_cast<int64_t>(parameters.all().size()) * 12, "norms of tensors");
}

void TensorNormMeter::before_update(device::Stream& stream) {
  for (size_t index = 0; index < slabs_.size(); ++index) {
    const device::Buffer& weights = parameters_->slabs()[index].weights;
    slabs_[index].before = stream.device().allocate(weights.size_bytes(), "weights before the update");
    stream.copy(weights, slabs_[index].before);
  }
}

std::unique_ptr<device::Readback> TensorNormMeter::after_update(device::Stream& stream,
                                                                const GradientMeter& gradients) {
  int64_t at = 0;
  for (size_t index = 0; index < slabs_.size(); ++index) {
    Slab& slab = slabs_[index];
    const nn::Slab& values = parameters_->slabs()[index];
    kernels::gradient_norm_squared(stream, {values.weights, values.count, slab.partial, slab.table, slab.weight_sums});
    kernels::sub(stream, {values.weights, slab.before, values.gradients, values.count});
    slab.before = {};
    kernels::gradient_norm_squared(stream,
                                   {values.gradients, values.count, slab.partial, slab.table, slab.update_sums});
    for (const device::Buffer& sums : {gradients.tensor_sums(index), slab.weight_sums, slab.update_sums}) {
      stream.copy(sums, sums_.slice(at, sums.size_bytes()));
      at += sums.size_bytes();
    }
  }
  return stream.read_later(sums_);
}

std::vector<TensorNorms> TensorNormMeter::read(device::Readback& readback) const {
  std::vector<float> sums(parameters_->all().size() * 3);
  readback.wait(std::as_writable_bytes(std::span(sums)));
  std::vector<TensorNorms> norms(parameters_->all().size());
  size_t at = 0;
  const auto root = [&](size_t i) { return std::sqrt(static_cast<double>(sums[at + i])); };
  for (const Slab& slab : slabs_) {
    const size_t count = slab.tensors.size();
    for (size_t i = 0; i < count; ++i) norms[slab.tensors[i]] = {root(i), root(count + i), root(2 * count + i)};
    at += 3 * count;
  }
  return norms;
}

}  // namespace athanor::train
