// `athanor plan`: memory and time of a run before it is begun.
#pragma once

#include <CLI/CLI.hpp>

namespace athanor::cli {

void add_plan_command(CLI::App& app);

}  // namespace athanor::cli
