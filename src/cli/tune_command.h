// `athanor tune`: which forms of the kernels are fastest on this device, measured once and kept.
#pragma once

namespace CLI {
class App;
}

namespace athanor::cli {

void add_tune_command(CLI::App& app);

}  // namespace athanor::cli
