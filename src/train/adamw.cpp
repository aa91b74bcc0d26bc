// AdamW: one launch a slab.
#include "train/adamw.h"

#include "kernels/adamw_update/adamw_update.h"

#include <cmath>

namespace athanor::train {

namespace {

void set_step(kernels::AdamwStep& step, const OptimizerSettings& settings, double learning_rate, int64_t applied_step) {
  const double t = static_cast<double>(applied_step);
  step.lr = static_cast<float>(learning_rate);
  step.beta1 = static_cast<float>(settings.beta1);
  step.beta2 = static_cast<float>(settings.beta2);
  step.one_minus_beta1 = static_cast<float>(1 - settings.beta1);
  step.one_minus_beta2 = static_cast<float>(1 - settings.beta2);
  step.eps = static_cast<float>(settings.epsilon);
  step.bias_correction1 = static_cast<float>(1 - std::pow(settings.beta1, t));
  step.bias_correction2 = static_cast<float>(1 - std::pow(settings.beta2, t));
}

device::Buffer zeros(device::Stream& stream, int64_t bytes, std::string_view label) {
  const device::Buffer buffer = stream.device().allocate(bytes, label);
  stream.fill_zero(buffer);
  return buffer;
}

}  // namespace

std::vector<size_t> all_slabs(const nn::Parameters& parameters) {
  std::vector<size_t> which(parameters.slabs().size());
  for (size_t i = 0; i < which.size(); ++i) which[i] = i;
  return which;
}

AdamwSlabs::AdamwSlabs(device::Stream& stream, const nn::Parameters& parameters, const OptimizerSettings& settings,
                       const std::vector<size_t>& which)
    : parameters_(&parameters), settings_(settings) {
  for (size_t slab : which) {
    const int64_t bytes = parameters.slabs()[slab].count * 4;
    moments_.push_back({slab, zeros(stream, bytes, "first moments"), zeros(stream, bytes, "second moments"),
                        kernels::upload_segments(stream, segments_of(parameters, slab, settings.weight_decay))});
  }
}

void AdamwSlabs::update(device::Stream& stream, const device::Buffer& stats, double learning_rate,
                        int64_t applied_step) {
  for (const Moments& moments : moments_) {
    const nn::Slab& slab = parameters_->slabs()[moments.slab];
    kernels::AdamwUpdateF16 args;
    set_step(args, settings_, learning_rate, applied_step);
    args.weights = slab.weights;
    args.gradients = slab.gradients;
    args.m = moments.m;
    args.v = moments.v;
    args.segments = moments.segments;
    args.stats = stats;
    args.count = slab.count;
    args.mirror = slab.mirror;
    if (slab.mirror) {
      kernels::adamw_update_f16(stream, args);
    } else {
      kernels::adamw_update(stream, args);
    }
  }
}

void AdamwSlabs::add_state(std::vector<StateTensor>& state) const {
  for (const nn::Parameter& parameter : parameters_->all()) {
    for (const Moments& moments : moments_) {
      if (static_cast<int>(moments.slab) != parameter.slab) continue;
      const int64_t begin = parameter.offset * 4;
      const int64_t bytes = parameter.spec.shape.num_elements() * 4;
      const std::vector<int64_t> shape = extents_of(parameter);
      state.push_back({parameter.spec.name + ".exp_avg", DType::F32, shape, moments.m.slice(begin, bytes)});
      state.push_back({parameter.spec.name + ".exp_avg_sq", DType::F32, shape, moments.v.slice(begin, bytes)});
    }
  }
}

Adamw::Adamw(device::Stream& stream, const nn::Parameters& parameters, const OptimizerSettings& settings)
    : Optimizer(stream, parameters, settings), slabs_(stream, parameters, settings, all_slabs(parameters)) {}

void Adamw::update(device::Stream& stream, double learning_rate, int64_t applied_step) {
  slabs_.update(stream, stats(), learning_rate, applied_step);
}

std::vector<StateTensor> Adamw::state() const {
  std::vector<StateTensor> state;
  slabs_.add_state(state);
  return state;
}

Adamw8bit::Adamw8bit(device::Stream& stream, const nn::Parameters& parameters, const OptimizerSettings& settings)
    : Optimizer(stream, parameters, settings) {
  for (size_t index = 0; index < parameters.slabs().size(); ++index) {
    const int64_t bytes = kernels::code_words(parameters.slabs()[index].count) * 4;
    Moments moments;
    moments.m_codes = zeros(stream, bytes, "first moments, 8 bits");
    moments.v_codes = zeros(stream, bytes, "second moments, 8 bits");
    moments.blocks = kernels::upload_8bit_blocks(stream, segments_of(parameters, index, settings.weight_decay));
    moments.scales = zeros(stream, moments.blocks.count * 8, "scales of 8-bit moments");
    moments_.push_back(std::move(moments));
  }
}

void Adamw8bit::update(device::Stream& stream, double learning_rate, int64_t applied_step) {
  for (size_t index = 0; index < moments_.size(); ++index) {
    const nn::Slab& slab = parameters_->slabs()[index];
    const Moments& moments = moments_[index];
    kernels::Adamw8bitUpdate args;
    set_step(args, settings_, learning_rate, applied_step);
    args.weights = slab.weights;
    args.gradients = slab.gradients;
    args.m_codes = moments.m_codes;
    args.v_codes = moments.v_codes;
    args.scales = moments.scales;
    args.blocks = moments.blocks;
    args.stats = stats();
    args.mirror = slab.mirror;
    args.count = slab.count;
    kernels::adamw_8bit_update(stream, args);
  }
}

std::vector<StateTensor> Adamw8bit::state() const {
  std::vector<StateTensor> state;
  std::vector<int64_t> first_block(moments_.size(), 0);  // of the next tensor of each slab
  for (const nn::Parameter& parameter : parameters_->all()) {
    const auto slab = static_cast<size_t>(parameter.slab);
    const Moments& moments = moments_[slab];
    const int64_t count = parameter.spec.shape.num_elements();
    const int64_t words = kernels::code_words(count);
    const int64_t blocks = (count + kernels::kAdamw8bitBlock - 1) / kernels::kAdamw8bitBlock;
    // Offsets are multiples of four elements, so each tensor begins a word.
    const auto codes = [&](const char* name, const device::Buffer& buffer) {
      state.push_back({parameter.spec.name + name, DType::U32, {words}, buffer.slice(parameter.offset, words * 4)});
    };
    codes(".exp_avg.codes", moments.m_codes);
    codes(".exp_avg_sq.codes", moments.v_codes);
    state.push_back({parameter.spec.name + ".scales",
                     DType::F32,
                     {blocks, 2},
                     moments.scales.slice(first_block[slab] * 8, blocks * 8)});
    first_block[slab] += blocks;
  }
  return state;
}

}  // namespace athanor::train
