// `athanor bench generate`.
#pragma once

#include <CLI/CLI.hpp>

namespace athanor::cli {

void add_bench_generate_command(CLI::App& bench);

}  // namespace athanor::cli
