// A settings file is known by its name.
#include "cli/train_inputs.h"

#include "base/error.h"
#include "base/log.h"
#include "train/setting_error.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace athanor::cli {

namespace {

bool is_settings_file(const std::string& path) { return path.ends_with(".yaml") || path.ends_with(".yml"); }

}  // namespace

train::TrainSettings settings_of(const std::vector<std::string>& inputs, const SettingFlags& flags,
                                 const std::optional<train::SettingLayer>& of_run) {
  std::vector<train::SettingLayer> layers = {train::environment_settings()};
  if (of_run) layers.push_back(*of_run);
  std::vector<std::string> data;
  for (const std::string& input : inputs) {
    if (is_settings_file(input)) {
      layers.push_back(train::read_settings_file(input));
    } else {
      data.push_back(input);
    }
  }
  train::SettingLayer line = flags.layer();
  const auto says = [&](std::string_view key) {
    return std::any_of(line.begin(), line.end(), [&](const train::SettingValue& value) { return value.key == key; });
  };
  train::check_setting(!says("minutes") || !says("max_steps"),
                       "--minutes and --max-steps both say how long; give one of them");
  train::check_setting(!says("minutes") || !of_run,
                       "a run that goes on knows its steps; pass --max-steps instead of --minutes");
  if (!data.empty()) line.insert(line.begin(), {"data", data, "INPUT"});
  layers.push_back(std::move(line));
  train::TrainSettings settings;
  train::apply_layers(settings, layers);
  return settings;
}

void say_what_is_overridden(const train::TrainSettings& settings) {
  const std::vector<std::string> keys = train::overridden_keys(settings);
  if (keys.empty()) return;
  const std::string name =
      settings.preset.empty() ? fmt::format("depth {}", settings.depth) : fmt::format("preset {}", settings.preset);
  log_info("{}: said otherwise are {}", name, fmt::join(keys, ", "));
}

}  // namespace athanor::cli
