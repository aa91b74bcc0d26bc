// `athanor show`: what is in a run, checkpoint, model folder, token file or safetensors file; several runs are compared.
#pragma once

#include <CLI/CLI.hpp>

namespace athanor::cli {

void add_show_command(CLI::App& app);

}  // namespace athanor::cli
