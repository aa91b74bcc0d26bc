// athanor generate: a model goes on from a prompt.
#pragma once

#include <CLI/CLI.hpp>

namespace athanor::cli {

void add_generate_command(CLI::App& app);

}  // namespace athanor::cli
