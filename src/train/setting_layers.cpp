// Layers over each other.
#include "train/setting_layers.h"

#include "base/error.h"
#include "train/presets.h"
#include "train/setting_error.h"

#include <cstdlib>

namespace athanor::train {

namespace {

bool names(const SettingLayer& layer, std::string_view key) {
  for (const SettingValue& value : layer) {
    if (value.key == key) return true;
  }
  return false;
}

/// What the highest layer that names the key says.
const SettingValue* last_named(std::span<const SettingLayer> layers, std::string_view key) {
  const SettingValue* found = nullptr;
  for (const SettingLayer& layer : layers) {
    for (const SettingValue& value : layer) {
      if (value.key == key) found = &value;
    }
  }
  return found;
}

SettingLayer lowest_layer(const TrainSettings& settings, std::string_view source = "train") {
  check_setting(settings.preset.empty() || settings.depth == 0,
                "preset {} and depth {} both say how large the model is; give one of them", settings.preset,
                settings.depth);
  if (!settings.preset.empty()) return preset_values(settings.preset, source);
  return settings.depth > 0 ? depth_values(settings.depth) : SettingLayer{};
}

/// What the layer is about to say of the batch, or of the length of its rows, opens what would contradict it.
void open_batch(TrainSettings& settings, const SettingLayer& layer) {
  const bool names_tokens = names(layer, "batch_tokens");
  const bool names_rows = names(layer, "per_device_train_batch_size");
  const bool names_steps = names(layer, "gradient_accumulation_steps");
  const bool names_length = names(layer, "max_length") || names(layer, "model_config.max_position_embeddings");
  if (!names_tokens && settings.batch_tokens == 0) return;
  if (names_rows && names_steps) {
    settings.batch_tokens = 0;
    return;
  }
  if (!names_tokens && !names_rows && !names_steps && !names_length) return;
  if (!names_rows) settings.per_device_train_batch_size = 0;
  if (!names_steps) settings.gradient_accumulation_steps = 0;
}

void apply_layer(TrainSettings& settings, const SettingLayer& layer) {
  open_batch(settings, layer);
  nn::LlamaConfig& model = settings.model_config;
  // As many as query heads, whatever number a layer above says of these alone.
  const bool is_ungrouped = model.num_key_value_heads == model.num_attention_heads;
  for (const SettingValue& value : layer) apply_setting(settings, value.key, value.values, value.source);
  if (is_ungrouped && !names(layer, "model_config.num_key_value_heads"))
    model.num_key_value_heads = model.num_attention_heads;
  if (settings.batch_tokens > 0 || !names(layer, "batch_tokens")) return;
  // Without a number of tokens nothing is picked.
  const TrainSettings defaults;
  if (!names(layer, "per_device_train_batch_size"))
    settings.per_device_train_batch_size = defaults.per_device_train_batch_size;
  if (!names(layer, "gradient_accumulation_steps"))
    settings.gradient_accumulation_steps = defaults.gradient_accumulation_steps;
}

}  // namespace

SettingLayer environment_settings() {
  SettingLayer layer;
  for (const SettingKey& key : setting_keys()) {
    const std::string name = key.environment_name();
    const char* value = std::getenv(name.c_str());
    if (value != nullptr) layer.push_back({key.name, {value}, "$" + name});
  }
  return layer;
}

void apply_layers(TrainSettings& settings, std::span<const SettingLayer> layers) {
  for (const char* key : {"preset", "depth"}) {
    if (const SettingValue* named = last_named(layers, key)) apply_setting(settings, key, named->values, named->source);
  }
  const SettingValue* preset = last_named(layers, "preset");
  apply_layer(settings, lowest_layer(settings, preset == nullptr ? "train" : preset->source));
  for (const SettingLayer& layer : layers) apply_layer(settings, layer);
  // A layer below may have named another one.
  for (const char* key : {"preset", "depth"}) {
    if (const SettingValue* named = last_named(layers, key)) apply_setting(settings, key, named->values, named->source);
  }
}

void apply_settings_file(TrainSettings& settings, const std::filesystem::path& path) {
  const SettingLayer layer = read_settings_file(path);
  apply_layers(settings, {&layer, 1});
}

std::vector<std::string> overridden_keys(const TrainSettings& settings) {
  std::vector<std::string> keys;
  for (const SettingValue& value : lowest_layer(settings)) {
    TrainSettings changed = settings;
    apply_setting(changed, value.key, value.values, value.source);
    if (to_yaml(changed) != to_yaml(settings)) keys.push_back(value.key);
  }
  return keys;
}

}  // namespace athanor::train
