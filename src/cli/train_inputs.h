// What the command lines of `train`, `plan` and `data show` name: settings files or data, and flags over both.
#pragma once

#include "cli/setting_flags.h"

#include <optional>
#include <string>
#include <vector>

namespace athanor::cli {

/// From the lowest: the preset or depth, the environment, the config.yaml of a run that goes on, the settings files among the inputs, the
/// other inputs as data together with the flags.
train::TrainSettings settings_of(const std::vector<std::string>& inputs, const SettingFlags& flags,
                                 const std::optional<train::SettingLayer>& of_run = std::nullopt);

/// One line on stderr that says which values of the preset or depth something above it has changed; none when all stand.
void say_what_is_overridden(const train::TrainSettings& settings);

}  // namespace athanor::cli
