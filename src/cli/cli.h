// The command line: one file a subcommand, each with add_X_command(app). The only layer that prints and exits.
#pragma once

#include <CLI/CLI.hpp>

namespace athanor::cli {

/// Runs the command that argv names and returns the code to exit with (exit_codes.h). Never throws.
int run(int argc, const char* const* argv);

/// True when -q was given anywhere on the line; for commands that show progress.
bool is_quiet(const CLI::App& command);

/// Every long option of the command is also read from ATHANOR_<OPTION> (--top-k: ATHANOR_TOP_K), below the command line. Not for
/// commands that have a settings file, which stands above the environment.
void read_environment(CLI::App& command);

}  // namespace athanor::cli
