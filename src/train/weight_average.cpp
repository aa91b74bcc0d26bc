// One launch a slab for the average, three copies a slab for a swap.
#include "train/weight_average.h"

#include "base/log.h"
#include "kernels/ema_update/ema_update.h"

#include <algorithm>
#include <exception>

namespace athanor::train {

WeightAverage::WeightAverage(device::Stream& stream, const nn::Parameters& parameters, double decay)
    : parameters_(&parameters), decay_(decay) {
  for (const nn::Slab& slab : parameters.slabs()) {
    averages_.push_back(stream.device().allocate(slab.count * 4, "average of the weights"));
    stream.fill_zero(averages_.back());
  }
}

void WeightAverage::update(device::Stream& stream, const device::Buffer& stats, int64_t applied_step) {
  const double t = static_cast<double>(applied_step);
  const double decay = std::min(decay_, (1 + t) / (10 + t));
  for (size_t i = 0; i < averages_.size(); ++i) {
    const nn::Slab& slab = parameters_->slabs()[i];
    kernels::ema_update(stream, {averages_[i], slab.weights, stats, slab.count, static_cast<float>(decay),
                                 static_cast<float>(1 - decay)});
  }
}

void WeightAverage::swap(device::Stream& stream) {
  for (size_t i = 0; i < averages_.size(); ++i) {
    const nn::Slab& slab = parameters_->slabs()[i];
    const device::Buffer kept = stream.device().allocate(slab.count * 4, "weights while the average is shown");
    stream.copy(slab.weights, kept);
    stream.copy(averages_[i], slab.weights);
    stream.copy(kept, averages_[i]);
  }
  parameters_->refresh_mirror(stream);
  parameters_->weights_changed();
}

void WeightAverage::restart(device::Stream& stream) {
  for (size_t i = 0; i < averages_.size(); ++i) stream.copy(parameters_->slabs()[i].weights, averages_[i]);
}

std::vector<StateTensor> WeightAverage::state() const {
  std::vector<StateTensor> state;
  for (const nn::Parameter& parameter : parameters_->all()) {
    const device::Buffer& slab = averages_[static_cast<size_t>(parameter.slab)];
    state.push_back({parameter.spec.name + kTrainedSuffix, DType::F32, extents_of(parameter),
                     slab.slice(parameter.offset * 4, parameter.spec.shape.num_elements() * 4)});
  }
  return state;
}

ShownAverage::~ShownAverage() {
  if (average_ == nullptr) return;
  try {
    average_->swap(stream_);
  } catch (const std::exception& error) {
    // Only a lost device refuses a copy; whoever uses it next is told so.
    log_warning("the trained weights cannot be put back after an evaluation: {}", error.what());
  }
}

}  // namespace athanor::train
