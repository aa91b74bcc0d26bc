// Prints docs/settings.md.
#include "cli/settings_command.h"

#include "cli/output.h"
#include "train/settings_document.h"

namespace athanor::cli {

void add_settings_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("settings", "Every setting of training with its default, and what presets set");
  command->footer("Example:\n  athanor settings | less");
  command->callback([] { write_output(train::settings_document()); });
}

}  // namespace athanor::cli
