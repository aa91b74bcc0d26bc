// athanor doctor: what this machine offers, and whether it computes right.
#pragma once

#include <CLI/CLI.hpp>

namespace athanor::cli {

void add_doctor_command(CLI::App& app);

}  // namespace athanor::cli
