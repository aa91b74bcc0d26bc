// `athanor explain`: one training step, launch by launch.
#pragma once

#include <CLI/CLI.hpp>

namespace athanor::cli {

void add_explain_command(CLI::App& app);

}  // namespace athanor::cli
