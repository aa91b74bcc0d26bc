// Layout of slabs and initial values.
#include "nn/parameters.h"

#include "base/random.h"
#include "kernels/fp32_to_fp16/fp32_to_fp16.h"

#include <array>
#include <set>

namespace athanor::nn {

namespace {

int64_t padded(int64_t count) { return (count + kSlabAlignment - 1) / kSlabAlignment * kSlabAlignment; }

}  // namespace

Parameters::Parameters(device::Stream& stream, const std::vector<ParameterSpec>& specs, Trained trained,
                       Precision precision) {
  const int64_t most = stream.device().info().max_binding_bytes / 4;
  std::set<std::string_view> names;
  std::array<int, 2> open_slab{-1, -1};  // the one being filled with hidden matrices, and with all else
  for (const ParameterSpec& spec : specs) {
    check(names.insert(spec.name).second, "parameters: {} is there twice", spec.name);
    const int64_t count = padded(spec.shape.num_elements());
    check(count > 0 && count <= most,
          "parameters: {} of shape {} needs {} bytes but {} takes {} in one piece; take a smaller model", spec.name,
          spec.shape.to_string(), count * 4, stream.device().info().name, most * 4);
    Parameter parameter{spec, {}, 0, 0};
    const bool is_hidden = parameter.is_hidden_matrix();
    int& open = open_slab[is_hidden ? 1 : 0];
    if (open < 0 || slabs_[static_cast<size_t>(open)].count + count > most) {
      open = static_cast<int>(slabs_.size());
      slabs_.emplace_back().is_hidden = is_hidden;
    }
    Slab& slab = slabs_[static_cast<size_t>(open)];
    parameter.slab = open;
    parameter.offset = slab.count;
    slab.count += count;
    parameters_.push_back(std::move(parameter));
  }
  for (Slab& slab : slabs_) {
    slab.weights = stream.device().allocate(slab.count * 4, "weights");
    stream.fill_zero(slab.weights);
    if (precision == Precision::Mixed) {
      slab.mirror = stream.device().allocate(kernels::half_words(slab.count) * 4, "f16 mirror");
      stream.fill_zero(slab.mirror);
    }
    if (trained == Trained::No) continue;
    slab.gradients = stream.device().allocate(slab.count * 4, "gradients");
    stream.fill_zero(slab.gradients);
  }
  for (Parameter& parameter : parameters_) {
    const Slab& slab = slabs_[static_cast<size_t>(parameter.slab)];
    const int64_t bytes = parameter.spec.shape.num_elements() * 4;
    parameter.values = tensor::Tensor(slab.weights.slice(parameter.offset * 4, bytes), parameter.spec.shape);
    if (slab.mirror && parameter.is_decayed()) {
      const int64_t halves = kernels::half_words(parameter.spec.shape.num_elements());
      parameter.values.set_mirror(slab.mirror.slice(parameter.offset * 2, halves * 4));
    }
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
  for (size_t index = 0; index < parameters_.size(); ++index) {
    const Parameter& parameter = parameters_[index];
    const std::vector<float> values = initial_values(parameter.spec, seed, index);
    stream.upload(parameter.values.buffer(), std::as_bytes(std::span(values)));
  }
  refresh_mirror(stream);
  weights_changed();
}

void Parameters::weights_changed() const {
  for (const Parameter& parameter : parameters_) parameter.values.values_changed();
}

void Parameters::refresh_mirror(device::Stream& stream) const {
  for (const Slab& slab : slabs_) {
    if (slab.mirror) kernels::fp32_to_fp16(stream, {slab.weights, slab.mirror, slab.count});
  }
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

std::vector<float> initial_values(const ParameterSpec& spec, uint64_t seed, size_t index) {
  std::vector<float> values(static_cast<size_t>(spec.shape.num_elements()), 1.0F);
  if (spec.initial_std > 0) {
    Random random(seed, RandomStream::Weights, index);
    for (float& value : values) value = static_cast<float>(random.normal() * spec.initial_std);
  }
  return values;
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
