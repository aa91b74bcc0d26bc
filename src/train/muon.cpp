// Muon takes its matrices one by one; slabs hold hidden matrices or none, so no memory is given to moments that nobody uses.
#include "train/muon.h"

#include "kernels/fp32_to_fp16/fp32_to_fp16.h"
#include "kernels/muon_update/muon_update.h"

namespace athanor::train {

namespace {

std::vector<size_t> slabs_without_hidden(const nn::Parameters& parameters) {
  std::vector<size_t> which;
  for (size_t i = 0; i < parameters.slabs().size(); ++i) {
    if (!parameters.slabs()[i].is_hidden) which.push_back(i);
  }
  return which;
}

}  // namespace

Muon::Muon(device::Stream& stream, const nn::Parameters& parameters, const OptimizerSettings& settings)
    : Optimizer(stream, parameters, settings), rest_(stream, parameters, settings, slabs_without_hidden(parameters)) {
  for (const nn::Slab& slab : parameters.slabs()) {
    momenta_.emplace_back();
    if (!slab.is_hidden) continue;
    momenta_.back() = stream.device().allocate(slab.count * 4, "momentum");
    stream.fill_zero(momenta_.back());
  }
}

device::Buffer Muon::momentum_of(const nn::Parameter& parameter) const {
  const device::Buffer& slab = momenta_[static_cast<size_t>(parameter.slab)];
  return slab.slice(parameter.offset * 4, parameter.spec.shape.num_elements() * 4);
}

void Muon::update(device::Stream& stream, double learning_rate, int64_t applied_step) {
  rest_.update(stream, stats(), learning_rate, applied_step);
  for (const nn::Parameter& parameter : parameters_->all()) {
    const nn::Slab& slab = parameters_->slabs()[static_cast<size_t>(parameter.slab)];
    if (!slab.is_hidden) continue;
    const device::Buffer& weights = parameter.values.buffer();
    kernels::MuonUpdate args;
    args.weights = weights;
    args.gradients = slab.gradients.slice(parameter.offset * 4, weights.size_bytes());
    args.m = momentum_of(parameter);
    args.stats = stats();
    args.rows = parameter.spec.shape[0];
    args.columns = parameter.spec.shape[1];
    args.lr = static_cast<float>(learning_rate * settings_.muon_rate_ratio);
    args.weight_decay = static_cast<float>(settings_.weight_decay);
    args.momentum = static_cast<float>(settings_.muon_momentum);
    args.one_minus_momentum = static_cast<float>(1 - settings_.muon_momentum);
    kernels::muon_update(stream, args);
  }
  for (const nn::Slab& slab : parameters_->slabs()) {
    if (slab.is_hidden && slab.mirror) kernels::fp32_to_fp16(stream, {slab.weights, slab.mirror, slab.count});
  }
}

std::vector<StateTensor> Muon::state() const {
  std::vector<StateTensor> state;
  rest_.add_state(state);
  for (const nn::Parameter& parameter : parameters_->all()) {
    if (!momenta_[static_cast<size_t>(parameter.slab)]) continue;
    state.push_back(
        {parameter.spec.name + ".momentum_buffer", DType::F32, extents_of(parameter), momentum_of(parameter)});
  }
  return state;
}

}  // namespace athanor::train
