// The table of training settings as flags of a command: --max-steps for max_steps, --model-config.hidden-size for the group.
#pragma once

#include "train/settings.h"

#include <CLI/CLI.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace athanor::cli {

class SettingFlags {
 public:
  /// Adds every key as a flag; output_short is the short name of --output-dir ("-o").
  void add_to(CLI::App& command, const std::string& output_short);
  /// Adds only these keys.
  void add_only(CLI::App& command, const std::vector<std::string>& names);
  /// Lays the flags that were given over the settings. Throws Error naming the flag.
  void apply(train::TrainSettings& settings) const;

 private:
  struct Given {
    CLI::Option* option = nullptr;
    std::vector<std::string> values;
  };
  void add(CLI::App& command, const train::SettingKey& key, const std::string& names);

  std::shared_ptr<std::map<std::string, Given>> given_ = std::make_shared<std::map<std::string, Given>>();
};

}  // namespace athanor::cli
