// The optimizers over a model's slabs, behind one interface: norm of all gradients, clipping and update stay on the device; the host learns
// of them one step late. Each says which buffers make up its state, so that a checkpoint holds them by name.
#pragma once

#include "kernels/gradient_norm/gradient_norm.h"
#include "nn/parameters.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::train {

enum class OptimizerKind { Adamw, Adamw8bit, Sgd, Muon };

/// "adamw_torch", "adamw_8bit", "sgd", "muon": Hugging Face's names where it has them.
std::string_view name_of(OptimizerKind kind);
/// Also takes "adamw_bnb_8bit". Throws Error with the known names for another.
OptimizerKind optimizer_kind(std::string_view name);

struct OptimizerSettings {
  OptimizerKind kind = OptimizerKind::Adamw;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.1;  // of matrices only
  double max_grad_norm = 1;   // 0: no clipping
  double momentum = 0.9;      // of sgd
  double muon_momentum = 0.95;
  double muon_rate_ratio = 20;  // Muon's rate of hidden matrices over the learning rate, which AdamW takes for the rest
};

/// What the device found out about a step's gradients.
struct GradientStats {
  float norm = 0;
  float clip_scale = 1;
  float is_refused = 0;  // 1: the step changes nothing
  float is_outlier = 0;  // 1: refused for its norm alone
};

/// Reduces the gradients of all slabs to a norm by a fixed tree, tensor by tensor.
class GradientMeter {
 public:
  GradientMeter(device::Stream& stream, const nn::Parameters& parameters);

  /// Records norm and stats. A norm above largest_norm is refused like one that is not finite; 0 takes any.
  void measure(device::Stream& stream, double max_grad_norm, double largest_norm);
  /// (4) f32 on the device: a GradientStats.
  const device::Buffer& stats() const { return stats_; }
  /// (tensors of the slab) f32 on the device: the sum of g^2 of each, in the order of parameters.all().
  const device::Buffer& tensor_sums(size_t slab) const { return slabs_[slab].tensor_sums; }
  /// Norm of each tensor's gradient as last measured, in the order of parameters.all(); not finite where a gradient is not. Waits.
  std::vector<double> tensor_norms(device::Stream& stream) const;

 private:
  struct Slab {
    kernels::NormTable table;
    device::Buffer partial;
    device::Buffer tensor_sums;
    std::vector<size_t> tensors;  // numbers in parameters.all()
  };

  const nn::Parameters* parameters_;
  std::vector<Slab> slabs_;
  device::Buffer partial_;
  device::Buffer stats_;
};

/// A part of an optimizer's state, laid out as on the device.
struct StateTensor {
  std::string name;  // "model.norm.weight.exp_avg"
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  device::Buffer buffer;
};

class Optimizer {
 public:
  Optimizer(device::Stream& stream, const nn::Parameters& parameters, const OptimizerSettings& settings);
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  std::string_view name() const { return name_of(settings_.kind); }

  /// Records norm and stats of the gradients.
  void measure(device::Stream& stream, double largest_norm = 0) {
    meter_.measure(stream, settings_.max_grad_norm, largest_norm);
  }
  const GradientMeter& meter() const { return meter_; }
  const device::Buffer& stats() const { return meter_.stats(); }

  /// Records the update, f16 mirror included, as applied step number `applied_step` (from 1), with the stats that measure() left on the
  /// device: nothing changes where they refuse the step.
  virtual void update(device::Stream& stream, double learning_rate, int64_t applied_step) = 0;

  /// Everything that a checkpoint keeps, in a fixed order.
  virtual std::vector<StateTensor> state() const = 0;
  /// Zeros: as before the first step.
  void reset(device::Stream& stream);
  /// Bytes of the state on the device.
  int64_t state_bytes() const;

 protected:
  const nn::Parameters* parameters_;
  OptimizerSettings settings_;

 private:
  GradientMeter meter_;
};

std::unique_ptr<Optimizer> make_optimizer(device::Stream& stream, const nn::Parameters& parameters,
                                          const OptimizerSettings& settings);

/// The tensors of one slab as the kernels' tables take them, with weight decay for matrices.
std::vector<kernels::Segment> segments_of(const nn::Parameters& parameters, size_t slab, double weight_decay);

/// A tensor's shape as a file has it.
std::vector<int64_t> extents_of(const nn::Parameter& parameter);

}  // namespace athanor::train
