// athanor tokenizer train | encode | decode | show.
#pragma once

#include <CLI/CLI.hpp>

namespace athanor::cli {

void add_tokenizer_command(CLI::App& app);

}  // namespace athanor::cli
