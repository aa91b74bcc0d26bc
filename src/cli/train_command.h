// `athanor train`: from text, tokens or a settings file to a run folder.
#pragma once

#include <CLI/CLI.hpp>

namespace athanor::cli {

void add_train_command(CLI::App& app);

}  // namespace athanor::cli
