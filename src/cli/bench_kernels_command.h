// `athanor bench kernels`: time of every kernel beside the device's own limits.
#pragma once

#include <CLI/CLI.hpp>

namespace athanor::cli {

void add_bench_kernels_command(CLI::App& bench);

}  // namespace athanor::cli
