// `athanor settings`: every setting of training with its default and meaning, and what presets set.
#pragma once

#include <CLI/CLI.hpp>

namespace athanor::cli {

void add_settings_command(CLI::App& app);

}  // namespace athanor::cli
