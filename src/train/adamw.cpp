// AdamW: layout of the partial norms, and one launch a slab.
#include "train/adamw.h"

#include "kernels/adamw_update/adamw_update.h"
#include "kernels/gradient_norm/gradient_norm.h"

#include <cmath>

namespace athanor::train {

Adamw::Adamw(device::Stream& stream, const nn::Parameters& parameters, const AdamwSettings& settings)
    : parameters_(&parameters), settings_(settings) {
  device::Device& device = stream.device();
  for (size_t index = 0; index < parameters.slabs().size(); ++index) {
    const nn::Slab& slab = parameters.slabs()[index];
    Moments moments{device.allocate(slab.count * 4, "first moments"),
                    device.allocate(slab.count * 4, "second moments")};
    stream.fill_zero(moments.m);
    stream.fill_zero(moments.v);
    moments_.push_back(moments);

    std::vector<kernels::AdamwSegment> segments;
    for (const nn::Parameter& parameter : parameters.all()) {
      if (parameter.slab != static_cast<int>(index)) continue;
      const int64_t end = parameter.offset + parameter.spec.shape.num_elements();
      segments.push_back({static_cast<uint32_t>(parameter.offset), static_cast<uint32_t>(end),
                          parameter.is_decayed() ? static_cast<float>(settings.weight_decay) : 0.0F});
    }
    segments_.push_back(kernels::upload_segments(stream, segments));

    partial_offsets_.push_back(partial_count_);
    const int64_t partials = kernels::norm_blocks(slab.count);
    partial_count_ += (partials + nn::kSlabAlignment - 1) / nn::kSlabAlignment * nn::kSlabAlignment;
  }
  partial_ = device.allocate(partial_count_ * 4, "partial gradient norms");
  stream.fill_zero(partial_);  // the gaps between slabs stay zero
  stats_ = device.allocate(sizeof(GradientStats), "gradient statistics");
}

void Adamw::measure(device::Stream& stream) {
  for (size_t index = 0; index < moments_.size(); ++index) {
    const nn::Slab& slab = parameters_->slabs()[index];
    const device::Buffer partial = partial_.slice(partial_offsets_[index] * 4, kernels::norm_blocks(slab.count) * 4);
    kernels::gradient_norm_squared(stream, {slab.gradients, slab.count, partial});
  }
  kernels::finalize_grad_stats(stream, {partial_, partial_count_, static_cast<float>(settings_.max_grad_norm), stats_});
}

void Adamw::update(device::Stream& stream, double learning_rate, int64_t applied_step) {
  const double t = static_cast<double>(applied_step);
  for (size_t index = 0; index < moments_.size(); ++index) {
    const nn::Slab& slab = parameters_->slabs()[index];
    kernels::AdamwUpdate args;
    args.weights = slab.weights;
    args.gradients = slab.gradients;
    args.m = moments_[index].m;
    args.v = moments_[index].v;
    args.segments = segments_[index];
    args.stats = stats_;
    args.count = slab.count;
    args.lr = static_cast<float>(learning_rate);
    args.beta1 = static_cast<float>(settings_.beta1);
    args.beta2 = static_cast<float>(settings_.beta2);
    args.one_minus_beta1 = static_cast<float>(1 - settings_.beta1);
    args.one_minus_beta2 = static_cast<float>(1 - settings_.beta2);
    args.eps = static_cast<float>(settings_.epsilon);
    args.bias_correction1 = static_cast<float>(1 - std::pow(settings_.beta1, t));
    args.bias_correction2 = static_cast<float>(1 - std::pow(settings_.beta2, t));
    kernels::adamw_update(stream, args);
  }
}

}  // namespace athanor::train
