// From keys to the types of the lower layers.
#include "train/step_settings.h"

namespace athanor::train {

OptimizerSettings optimizer_settings(const TrainSettings& settings) {
  OptimizerSettings result;
  result.kind = optimizer_kind(settings.optim);
  result.beta1 = settings.adam_beta1;
  result.beta2 = settings.adam_beta2;
  result.epsilon = settings.adam_epsilon;
  result.weight_decay = settings.weight_decay;
  result.max_grad_norm = settings.max_grad_norm;
  result.momentum = settings.sgd_momentum;
  result.muon_momentum = settings.muon_momentum;
  result.muon_rate_ratio = settings.muon_learning_rate / settings.learning_rate;
  return result;
}

kernels::CrossEntropyTerms loss_terms(const TrainSettings& settings) {
  kernels::CrossEntropyTerms terms;
  terms.label_smoothing = static_cast<float>(settings.label_smoothing_factor);
  terms.z_loss = static_cast<float>(settings.z_loss);
  return terms;
}

nn::Precision precision_of(const TrainSettings& settings) {
  return settings.precision == "mixed" ? nn::Precision::Mixed : nn::Precision::F32;
}

nn::Recompute recompute_of(const TrainSettings& settings) {
  return settings.gradient_checkpointing ? nn::Recompute::Blocks : nn::Recompute::No;
}

}  // namespace athanor::train
