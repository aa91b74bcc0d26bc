// What all optimizers share: names, the gradients' norm, and the choice.
#include "train/optimizer.h"

#include "train/adamw.h"
#include "train/muon.h"
#include "train/setting_error.h"
#include "train/sgd.h"

#include <array>
#include <cmath>

namespace athanor::train {

namespace {

struct Name {
  std::string_view name;
  OptimizerKind kind;
};

constexpr std::array<Name, 5> kNames{{{"adamw_torch", OptimizerKind::Adamw},
                                      {"adamw_8bit", OptimizerKind::Adamw8bit},
                                      {"sgd", OptimizerKind::Sgd},
                                      {"muon", OptimizerKind::Muon},
                                      {"adamw_bnb_8bit", OptimizerKind::Adamw8bit}}};

/// Values, rounded up so that what follows may be bound by itself.
int64_t bindable(int64_t values) {
  constexpr int64_t kValues = device::kBufferAlignment / 4;
  return (values + kValues - 1) / kValues * kValues;
}

}  // namespace

std::string_view name_of(OptimizerKind kind) {
  for (const Name& candidate : kNames) {
    if (candidate.kind == kind) return candidate.name;
  }
  return "";
}

OptimizerKind optimizer_kind(std::string_view name) {
  for (const Name& candidate : kNames) {
    if (candidate.name == name) return candidate.kind;
  }
  throw SettingError(fmt::format("optim is \"{}\"; known are adamw_torch, adamw_8bit, sgd and muon", name));
}

std::vector<kernels::Segment> segments_of(const nn::Parameters& parameters, size_t slab, double weight_decay) {
  std::vector<kernels::Segment> segments;
  for (const nn::Parameter& parameter : parameters.all()) {
    if (parameter.slab != static_cast<int>(slab)) continue;
    const int64_t end = parameter.offset + parameter.spec.shape.num_elements();
    segments.push_back({static_cast<uint32_t>(parameter.offset), static_cast<uint32_t>(end),
                        parameter.is_decayed() ? static_cast<float>(weight_decay) : 0.0F});
  }
  return segments;
}

std::vector<int64_t> extents_of(const nn::Parameter& parameter) {
  return {parameter.spec.shape.extents().begin(), parameter.spec.shape.extents().end()};
}

GradientMeter::GradientMeter(device::Stream& stream, const nn::Parameters& parameters) : parameters_(&parameters) {
  device::Device& device = stream.device();
  slabs_.resize(parameters.slabs().size());
  int64_t partials = 0;
  for (size_t index = 0; index < slabs_.size(); ++index) {
    slabs_[index].table = kernels::upload_norm_table(stream, segments_of(parameters, index, 0));
    partials += bindable(slabs_[index].table.block_count);
  }
  for (size_t i = 0; i < parameters.all().size(); ++i)
    slabs_[static_cast<size_t>(parameters.all()[i].slab)].tensors.push_back(i);
  partial_ = device.allocate(partials * 4, "partial gradient norms");
  stream.fill_zero(partial_);  // the gaps between slabs stay zero
  int64_t begin = 0;
  for (Slab& slab : slabs_) {
    slab.partial = partial_.slice(begin * 4, slab.table.block_count * 4);
    begin += bindable(slab.table.block_count);
    slab.tensor_sums = device.allocate(slab.table.tensor_count * 4, "gradient norms of tensors");
  }
  stats_ = device.allocate(sizeof(GradientStats), "gradient statistics");
}

void GradientMeter::measure(device::Stream& stream, double max_grad_norm, double largest_norm) {
  for (size_t index = 0; index < slabs_.size(); ++index) {
    const nn::Slab& values = parameters_->slabs()[index];
    const Slab& slab = slabs_[index];
    kernels::gradient_norm_squared(stream,
                                   {values.gradients, values.count, slab.partial, slab.table, slab.tensor_sums});
  }
  kernels::finalize_grad_stats(stream, {partial_, partial_.size_bytes() / 4, static_cast<float>(max_grad_norm), stats_,
                                        static_cast<float>(largest_norm)});
}

std::vector<double> GradientMeter::tensor_norms(device::Stream& stream) const {
  std::vector<double> norms(parameters_->all().size());
  for (const Slab& slab : slabs_) {
    const std::vector<float> sums = tensor::to_values(stream, slab.tensor_sums);
    for (size_t i = 0; i < slab.tensors.size(); ++i) norms[slab.tensors[i]] = std::sqrt(static_cast<double>(sums[i]));
  }
  return norms;
}

Optimizer::Optimizer(device::Stream& stream, const nn::Parameters& parameters, const OptimizerSettings& settings)
    : parameters_(&parameters), settings_(settings), meter_(stream, parameters) {}

void Optimizer::reset(device::Stream& stream) {
  for (const StateTensor& tensor : state()) stream.fill_zero(tensor.buffer);
}

int64_t Optimizer::state_bytes() const {
  int64_t bytes = 0;
  for (const StateTensor& tensor : state()) bytes += tensor.buffer.size_bytes();
  return bytes;
}

std::unique_ptr<Optimizer> make_optimizer(device::Stream& stream, const nn::Parameters& parameters,
                                          const OptimizerSettings& settings) {
  switch (settings.kind) {
    case OptimizerKind::Adamw8bit:
      return std::make_unique<Adamw8bit>(stream, parameters, settings);
    case OptimizerKind::Sgd:
      return std::make_unique<Sgd>(stream, parameters, settings);
    case OptimizerKind::Muon:
      return std::make_unique<Muon>(stream, parameters, settings);
    case OptimizerKind::Adamw:
      break;
  }
  return std::make_unique<Adamw>(stream, parameters, settings);
}

}  // namespace athanor::train
