// Settings as flags.
#include "cli/setting_flags.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace athanor::cli {

void SettingFlags::add_to(CLI::App& command, const std::string& output_short) {
  for (const train::SettingKey& key : train::setting_keys()) {
    add(command, key, key.name == "output_dir" ? output_short + "," + key.flag() : key.flag());
  }
}

void SettingFlags::add_only(CLI::App& command, const std::vector<std::string>& names) {
  for (const train::SettingKey& key : train::setting_keys()) {
    const bool is_wanted = std::find(names.begin(), names.end(), key.name) != names.end();
    // -t as in the other commands that take a tokenizer
    if (is_wanted) add(command, key, key.name == "tokenizer" ? "-t," + key.flag() : key.flag());
  }
}

void SettingFlags::add(CLI::App& command, const train::SettingKey& key, const std::string& names) {
  Given& given = (*given_)[key.name];
  const bool is_model = key.name.starts_with("model_config.");
  given.option =
      command.add_option(names, given.values, key.help)
          ->type_name(key.is_list ? "PATH..." : "VALUE")
          ->group(is_model ? "Model" : "Settings")
          ->multi_option_policy(key.is_list ? CLI::MultiOptionPolicy::TakeAll : CLI::MultiOptionPolicy::TakeLast);
  // Each takes one value a time, so that what stands behind it is an argument of its own.
  if (!key.is_list) given.option->expected(1)->allow_extra_args(false);
  if (key.name == "kernel") given.option->expected(1)->allow_extra_args(false)->type_name("NAME=FILE");
  if (key.name == "sample_prompts") given.option->expected(1)->allow_extra_args(false)->type_name("TEXT");
  if (key.name == "data_weights") given.option->expected(1)->allow_extra_args(false)->type_name("NUMBER,...");
  given.option->default_str(fmt::format("{}", fmt::join(key.get(train::TrainSettings()), " ")));
}

train::SettingLayer SettingFlags::layer() const {
  train::SettingLayer layer;
  train::TrainSettings tried;
  for (const train::SettingKey& key : train::setting_keys()) {
    const auto found = given_->find(key.name);
    if (found == given_->end() || found->second.option->count() == 0) continue;
    layer.push_back({key.name, found->second.values, key.flag()});
    try {
      train::apply_setting(tried, key.name, layer.back().values, layer.back().source);
    } catch (const train::UnreadableValue& error) {
      throw CLI::ValidationError(error.what());  // a command line that cannot be understood
    }
  }
  return layer;
}

std::vector<train::SettingLayer> SettingFlags::layers() const {
  train::SettingLayer variables = train::environment_settings();
  std::erase_if(variables, [&](const train::SettingValue& value) { return !given_->contains(value.key); });
  return {std::move(variables), layer()};
}

}  // namespace athanor::cli
