// SGD: one launch a slab, and the f16 mirror made anew by a second one.
#include "train/sgd.h"

#include "kernels/sgd_update/sgd_update.h"

namespace athanor::train {

Sgd::Sgd(device::Stream& stream, const nn::Parameters& parameters, const OptimizerSettings& settings)
    : Optimizer(stream, parameters, settings) {
  for (size_t index = 0; index < parameters.slabs().size(); ++index) {
    segments_.push_back(kernels::upload_segments(stream, segments_of(parameters, index, settings.weight_decay)));
    if (settings.momentum == 0) continue;
    momenta_.push_back(stream.device().allocate(parameters.slabs()[index].count * 4, "momentum"));
    stream.fill_zero(momenta_.back());
  }
}

void Sgd::update(device::Stream& stream, double learning_rate, int64_t) {
  for (size_t index = 0; index < segments_.size(); ++index) {
    const nn::Slab& slab = parameters_->slabs()[index];
    kernels::SgdUpdate args;
    args.weights = slab.weights;
    args.gradients = slab.gradients;
    if (!momenta_.empty()) args.m = momenta_[index];
    args.segments = segments_[index];
    args.stats = stats();
    args.count = slab.count;
    args.lr = static_cast<float>(learning_rate);
    args.momentum = static_cast<float>(settings_.momentum);
    kernels::sgd_update(stream, args);
  }
  parameters_->refresh_mirror(stream);
}

std::vector<StateTensor> Sgd::state() const {
  std::vector<StateTensor> state;
  if (momenta_.empty()) return state;
  for (const nn::Parameter& parameter : parameters_->all()) {
    const device::Buffer& m = momenta_[static_cast<size_t>(parameter.slab)];
    state.push_back({parameter.spec.name + ".momentum_buffer", DType::F32, extents_of(parameter),
                     m.slice(parameter.offset * 4, parameter.spec.shape.num_elements() * 4)});
  }
  return state;
}

}  // namespace athanor::train
