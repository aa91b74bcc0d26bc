// The weights of a model: named tensors in slabs (weights in one buffer, their gradients in another of the same layout), so that the
// optimizer takes one launch a slab and a step allocates nothing. A model asks by name; files and optimizers walk the list.
#pragma once

#include "tensor/tensor.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::nn {

enum class FileLayout {
  AsStored,    // the file holds the tensor as it lies on the device
  Transposed,  // a projection: [out, in] in a Hugging Face file, [in, out] on the device
};

struct ParameterSpec {
  std::string name;  // as in the Hugging Face file: "model.layers.0.mlp.up_proj.weight"
  Shape shape;       // on the device
  FileLayout layout = FileLayout::AsStored;
  float initial_std = 0;  // normal with this deviation; 0: ones (norm weights)
};

struct Parameter {
  ParameterSpec spec;
  tensor::Tensor values;
  int slab = 0;
  int64_t offset = 0;  // elements within the slab; a multiple of kSlabAlignment

  /// Weight decay applies to matrices only, not to norms.
  bool is_decayed() const { return spec.shape.rank() >= 2; }
  /// A matrix between embedding and head.
  bool is_hidden_matrix() const { return spec.layout == FileLayout::Transposed && spec.shape.rank() == 2; }
};

inline constexpr int64_t kSlabAlignment = 128;  // elements: 256 bytes as f16, where any adapter binds a range

struct Slab {
  device::Buffer weights;
  device::Buffer gradients;  // empty when the model is not trained
  device::Buffer mirror;     // the weights as f16, two a word; empty unless Precision::Mixed
  int64_t count = 0;         // elements, padding included; padding is zero in all
  bool is_hidden =
      false;  // holds hidden matrices and nothing else; the other slabs hold none, since Muon treats the two apart
};

enum class Trained { No, Yes };

/// Mixed: products read an f16 mirror of the weights, which the optimizer keeps up to date.
enum class Precision { F32, Mixed };

class Parameters {
 public:
  /// Weights are zero until initialize() or a file fills them.
  Parameters(device::Stream& stream, const std::vector<ParameterSpec>& specs, Trained trained,
             Precision precision = Precision::F32);

  const std::vector<Parameter>& all() const { return parameters_; }
  const std::vector<Slab>& slabs() const { return slabs_; }
  /// Throws Error when there is none of this name.
  const tensor::Tensor& at(std::string_view name) const;
  const Parameter* find(std::string_view name) const;
  int64_t num_weights() const;

  /// Initial values, keyed by (seed, tensor index, element).
  void initialize(device::Stream& stream, uint64_t seed);
  /// After anything wrote weights: scales that products measured on them are forgotten.
  void weights_changed() const;
  /// Makes the mirror anew from the weights, the very bits that the optimizer writes; nothing without a mirror.
  void refresh_mirror(device::Stream& stream) const;
  /// Before the first micro-batch of a step: gradients count as unwritten.
  void clear_gradients();
  /// After the last one: a gradient that nobody wrote becomes zero.
  void fill_missing_gradients(device::Stream& stream);

 private:
  std::vector<Parameter> parameters_;
  std::vector<Slab> slabs_;
};

/// The values that Parameters::initialize gives the tensor with this number in the list, as it lies on the device.
std::vector<float> initial_values(const ParameterSpec& spec, uint64_t seed, size_t index);

/// rows x columns, row-major, transposed.
std::vector<float> transposed(std::span<const float> values, int64_t rows, int64_t columns);

}  // namespace athanor::nn
