// athanor data show: the verdict on data before anything is trained on it.
#pragma once

#include <CLI/CLI.hpp>

namespace athanor::cli {

void add_data_show_command(CLI::App& data);

}  // namespace athanor::cli
