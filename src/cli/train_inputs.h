// What the command lines of `train` and `plan` name: a settings file or data, and flags over both.
#pragma once

#include "cli/setting_flags.h"

#include <string>
#include <vector>

namespace athanor::cli {

/// The settings file among the inputs, the other inputs as data, then the flags.
void lay_over(train::TrainSettings& settings, const std::vector<std::string>& inputs, const SettingFlags& flags);

}  // namespace athanor::cli
