// Stochastic gradient descent with momentum over the weights of a model: what the examples train with.
#pragma once

#include <athanor/kernels/sgd_update/sgd_update.h>
#include <athanor/nn/parameters.h>

#include <span>
#include <vector>

namespace athanor::examples {

/// The weights lie one behind the other in slabs, so that a step is one launch a slab and not one a tensor.
class Sgd {
 public:
  Sgd(device::Stream& stream, nn::Parameters& parameters, float momentum)
      : parameters_(parameters), momentum_(momentum) {
    for (size_t index = 0; index < parameters.slabs().size(); ++index) {
      std::vector<kernels::Segment> segments;  // where in the slab the tensors are
      for (const nn::Parameter& parameter : parameters.all()) {
        if (parameter.slab != static_cast<int>(index)) continue;
        const int64_t end = parameter.offset + parameter.spec.shape.num_elements();
        segments.push_back({static_cast<uint32_t>(parameter.offset), static_cast<uint32_t>(end), 0.0F});
      }
      segments_.push_back(kernels::upload_segments(stream, segments));
      velocity_.push_back(stream.device().allocate(parameters.slabs()[index].count * 4, "velocity"));
      stream.fill_zero(velocity_.back());
    }
    // Norm, factor, "not finite" flag: gradients are taken as they are.
    const std::vector<float> stats = {0, 1, 0, 0};
    stats_ = stream.device().allocate(16, "gradient statistics");
    stream.upload(stats_, std::as_bytes(std::span(stats)));
  }

  /// weights -= learning_rate * velocity, where velocity = momentum * velocity + gradient; then the gradients are forgotten.
  void step(device::Stream& stream, float learning_rate) {
    for (size_t index = 0; index < segments_.size(); ++index) {
      const nn::Slab& slab = parameters_.slabs()[index];
      kernels::sgd_update(stream, {slab.weights, slab.gradients, velocity_[index], segments_[index], stats_, slab.count,
                                   learning_rate, momentum_});
    }
    parameters_.clear_gradients();
  }

 private:
  nn::Parameters& parameters_;
  float momentum_;
  std::vector<device::Buffer> segments_;
  std::vector<device::Buffer> velocity_;
  device::Buffer stats_;
};

}  // namespace athanor::examples
