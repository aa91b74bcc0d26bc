// athanor data prepare | show.
#pragma once

#include <CLI/CLI.hpp>

namespace athanor::cli {

void add_data_command(CLI::App& app);

}  // namespace athanor::cli
