// `athanor eval`: how well a model predicts given text, what of it is copied, and questions by likelihood.
#pragma once

#include <CLI/CLI.hpp>

namespace athanor::cli {

void add_eval_command(CLI::App& app);

}  // namespace athanor::cli
