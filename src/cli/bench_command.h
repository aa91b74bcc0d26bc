// `athanor bench`: measurements on the user's own device.
#pragma once

#include <CLI/CLI.hpp>

namespace athanor::cli {

void add_bench_command(CLI::App& app);

}  // namespace athanor::cli
