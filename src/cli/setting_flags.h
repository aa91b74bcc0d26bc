// The table of training settings as flags of a command: --max-steps for max_steps, --model-config.hidden-size for the group.
#pragma once

#include "train/setting_layers.h"

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
  /// The flags that were given. Throws CLI::ValidationError for text that is no value of its flag at all, and Error for one outside the
  /// flag's range; both name the flag.
  train::SettingLayer layer() const;
  /// What the variables say of these keys, and above it the flags that were given. Throws as layer() does.
  std::vector<train::SettingLayer> layers() const;

 private:
  struct Given {
    CLI::Option* option = nullptr;
    std::vector<std::string> values;
  };
  void add(CLI::App& command, const train::SettingKey& key, const std::string& names);

  std::shared_ptr<std::map<std::string, Given>> given_ = std::make_shared<std::map<std::string, Given>>();
};

}  // namespace athanor::cli
