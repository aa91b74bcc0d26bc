// Where settings come from, one layer above the other: a preset or depth, the environment, a file, the command line. What a higher layer
// says holds.
#pragma once

#include "train/settings.h"

namespace athanor::train {

struct SettingValue {
  std::string key;
  std::vector<std::string> values;
  std::string source;  // for errors: "settings.yaml: line 3", "$ATHANOR_MAX_STEPS", "--max-steps"
};
using SettingLayer = std::vector<SettingValue>;

/// The keys of a YAML file in their order, "model_config.hidden_size" for those of the group. Throws Error, with the line, for what is no
/// map of keys and for a key that stands there twice. Whether keys and values are known is seen when they are applied.
SettingLayer read_settings_file(const std::filesystem::path& path);

/// ATHANOR_<KEY> variables.
SettingLayer environment_settings();

/// The preset or depth that the layers name, lowest; then the layers, lowest first. Of batch_tokens, per_device_train_batch_size and
/// gradient_accumulation_steps those are left open (0) that a higher layer makes follow from the others: batch_tokens alone opens both,
/// one of the two opens the other when there are batch_tokens, and both together end them. Throws Error naming key and source.
void apply_layers(TrainSettings& settings, std::span<const SettingLayer> layers);

/// Keys of the preset or depth whose values the settings do not have, since something above said otherwise.
std::vector<std::string> overridden_keys(const TrainSettings& settings);

}  // namespace athanor::train
