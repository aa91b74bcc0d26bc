// `athanor kernels`: the kernels with their bindings, and their WGSL.
#pragma once

#include <CLI/CLI.hpp>

namespace athanor::cli {

void add_kernels_command(CLI::App& app);

}  // namespace athanor::cli
