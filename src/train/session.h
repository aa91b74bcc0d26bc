// A whole training run: from settings to the finished folder. What is refused leaves nothing behind.
#pragma once

#include "train/device_choice.h"
#include "train/setting_layers.h"
#include "train/trainer.h"

#include <memory>

namespace athanor::train {

enum class Resume { No, Yes };

/// Trains as the settings say. With Resume::Yes goes on from the run's latest checkpoint, or starts at step 0, saying so, when there is
/// none. Without it, a folder that holds a run is refused. Where the settings leave the device open, GPU and CPU are compared first
/// (choose_device). A device that is lost is reopened once, with smaller submissions, and the run goes
/// on from its latest checkpoint.
TrainResult train(const TrainSettings& settings, Resume resume, const TrainHooks& hooks, const DeviceOpener& open,
                  const StepMeasure& measure = measure_briefly);

/// Several lines about what is going to be trained, for the log.
std::string plan_text(const TrainSettings& settings, const PreparedData& data);

/// Fills what a model of a given hidden_size leaves open. Throws Error for sizes that make no model.
void complete_model(TrainSettings& settings, const data::Tokenizer& tokenizer);

enum class MemoryCheck { No, Yes };

/// Sizes the model where its hidden_size is 0.
void size_open_model(device::Device& device, TrainSettings& settings, const PreparedData& data);

/// Fills lengths, the model and the batch. Throws as resolve_settings does.
void resolve_shape(device::Device& device, TrainSettings& settings, const PreparedData& data, MemoryCheck memory);

/// Fills lengths and the model's vocabulary, sizes the model, the batch and the number of steps where they are open. Throws Error for sizes that
/// do not fit each other and, with MemoryCheck::Yes, for a run that does not fit the device.
void resolve_settings(device::Device& device, TrainSettings& settings, const PreparedData& data,
                      MemoryCheck memory = MemoryCheck::Yes);

}  // namespace athanor::train
