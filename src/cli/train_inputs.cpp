// A settings file is known by its name.
#include "cli/train_inputs.h"

namespace athanor::cli {

namespace {

bool is_settings_file(const std::string& path) { return path.ends_with(".yaml") || path.ends_with(".yml"); }

}  // namespace

void lay_over(train::TrainSettings& settings, const std::vector<std::string>& inputs, const SettingFlags& flags) {
  std::vector<std::string> data;
  for (const std::string& input : inputs) {
    if (is_settings_file(input)) {
      train::apply_settings_file(settings, input);
    } else {
      data.push_back(input);
    }
  }
  if (!data.empty()) settings.data = data;
  flags.apply(settings);
}

}  // namespace athanor::cli
