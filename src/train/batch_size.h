// The batch that was wished in tokens, as rows and micro-batches that fit the device.
#pragma once

#include "device/device.h"
#include "train/settings.h"

namespace athanor::train {

/// Rows of an optimizer step: as the settings say, or where they leave them open, as many whole rows as batch_tokens make. max_length is
/// resolved.
int64_t rows_of_step(const TrainSettings& settings);

/// Fills per_device_train_batch_size and gradient_accumulation_steps where they are 0: the largest micro-batch that fits nine tenths of
/// the device's memory by the plan and is no longer than one that this kind of device still gains from, and as many as make the step.
/// batch_tokens becomes what they make: whole rows. settings: resolved otherwise. Throws Error when all three are given and disagree. When
/// not even one row fits, takes one: check_memory says so then.
void pick_batch(device::Device& device, TrainSettings& settings, int64_t validation_blocks);

}  // namespace athanor::train
