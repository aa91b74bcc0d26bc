// Layout of slabs and initial values.
#include "nn/parameters.h"

#include "base/random.h"

#include <set>

namespace athanor::nn {

namespace {

int64_t padded(int64_t count) { return (count + kSlabAlignment - 1) / kSlabAlignment * kSlabAlignment; }

}  // namespace

Parameters::Parameters(device::Stream& stream, const std::vector<ParameterSpec>& specs, Trained trained) {
  const int64_t most = stream.device().info().max_binding_bytes / 4;
  std::set<std::string_view> names;
  for (const ParameterSpec& spec : specs) {
    check(names.insert(spec.name).second, "parameters: {} is there twice", spec.name);
    const int64_t count = padded(spec.shape.num_elements());
    check(count > 0 && count <= most,
          "parameters: {} of shape {} needs {} bytes but {} takes {} in one piece; take a smaller model", spec.name,
          spec.shape.to_string(), count * 4, stream.device().info().name, most * 4);
    if (slabs_.empty() || slabs_.back().count + count > most) slabs_.emplace_back();
    parameters_.push_back({spec, {}, static_cast<int>(slabs_.size()) - 1, slabs_.back().count});
    slabs_.back().count += count;
  }
  for (Slab& slab : slabs_) {
    slab.weights = stream.device().allocate(slab.count * 4, "weights");
    stream.fill_zero(slab.weights);
    if (trained == Trained::No) continue;
    slab.gradients = stream.device().allocate(slab.count * 4, "gradients");
    stream.fill_zero(slab.gradients);
  }
  for (Parameter& parameter : parameters_) {
    const Slab& slab = slabs_[static_cast<size_t>(parameter.slab)];
    const int64_t bytes = parameter.spec.shape.num_elements() * 4;
    parameter.values = tensor::Tensor(slab.weights.slice(parameter.offset * 4, bytes), parameter.spec.shape);
    if (trained == Trained::No) continue;
    parameter.values.set_needs_gradient(true);
    parameter.values.set_gradient_place(slab.gradients.slice(parameter.offset * 4, bytes));
  }
}

const Parameter* Parameters::find(std::string_view name) const {
  for (const Parameter& parameter : parameters_) {
    if (parameter.spec.name == name) return &parameter;
  }
  return nullptr;
}

const tensor::Tensor& Parameters::at(std::string_view name) const {
  const Parameter* parameter = find(name);
  check(parameter != nullptr, "parameters: the model has no tensor named {}", name);
  return parameter->values;
}

int64_t Parameters::num_weights() const {
  int64_t count = 0;
  for (const Parameter& parameter : parameters_) count += parameter.spec.shape.num_elements();
  return count;
}

void Parameters::initialize(device::Stream& stream, uint64_t seed) {
  std::vector<float> values;
  for (size_t index = 0; index < parameters_.size(); ++index) {
    const Parameter& parameter = parameters_[index];
    values.assign(static_cast<size_t>(parameter.spec.shape.num_elements()), 1.0F);
    if (parameter.spec.initial_std > 0) {
      Random random(seed, RandomStream::Weights, index);
      for (float& value : values) value = static_cast<float>(random.normal() * parameter.spec.initial_std);
    }
    stream.upload(parameter.values.buffer(), std::as_bytes(std::span(values)));
  }
  weights_changed();
}

void Parameters::weights_changed() const {
  for (const Parameter& parameter : parameters_) parameter.values.values_changed();
}

void Parameters::clear_gradients() {
  for (Parameter& parameter : parameters_) parameter.values.clear_gradient();
}

void Parameters::fill_missing_gradients(device::Stream& stream) {
  for (Parameter& parameter : parameters_) {
    if (!parameter.values.needs_gradient() || parameter.values.gradient()) continue;
    stream.fill_zero(parameter.values.gradient_slot(stream).buffer);
  }
}

std::vector<float> transposed(std::span<const float> values, int64_t rows, int64_t columns) {
  std::vector<float> result(values.size());
  constexpr int64_t kTile = 32;  // both sides of a tile stay in the first-level cache
  for (int64_t row0 = 0; row0 < rows; row0 += kTile) {
    for (int64_t column0 = 0; column0 < columns; column0 += kTile) {
      for (int64_t row = row0; row < std::min(rows, row0 + kTile); ++row) {
        for (int64_t column = column0; column < std::min(columns, column0 + kTile); ++column) {
          result[static_cast<size_t>(column * rows + row)] = values[static_cast<size_t>(row * columns + column)];
        }
      }
    }
  }
  return result;
}

}  // namespace athanor::nn
