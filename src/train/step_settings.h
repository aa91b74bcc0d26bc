// What the settings of a run mean for its model and its steps; the run, its measurements and `bench train` build both from here.
#pragma once

#include "train/settings.h"
#include "train/train_step.h"

namespace athanor::train {

OptimizerSettings optimizer_settings(const TrainSettings& settings);
kernels::CrossEntropyTerms loss_terms(const TrainSettings& settings);
nn::Precision precision_of(const TrainSettings& settings);
nn::Recompute recompute_of(const TrainSettings& settings);

}  // namespace athanor::train
