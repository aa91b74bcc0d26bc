// Tables of Markdown.
#include "train/settings_document.h"

#include "train/presets.h"
#include "train/settings.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace athanor::train {

namespace {

/// A cell's text: a bar would end the cell.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char letter : text) escaped += letter == '|' ? std::string("\\|") : std::string(1, letter);
  return escaped;
}

std::string row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& text : cells) line += fmt::format(" {} |", cell(text));
  return line + "\n";
}

std::string code(std::string_view text) { return text.empty() ? "" : fmt::format("`{}`", text); }

std::string table_head(const std::vector<std::string>& cells) {
  std::string rule = "|";
  for (size_t i = 0; i < cells.size(); ++i) rule += "---|";
  return row(cells) + rule + "\n";
}

std::string keys_table() {
  const TrainSettings defaults;
  std::string table = table_head({"key", "default", "meaning"});
  for (const SettingKey& key : setting_keys())
    table += row({code(key.name), code(fmt::format("{}", fmt::join(key.get(defaults), " "))), key.help});
  return table;
}

const SettingValue* value_in(const SettingLayer& layer, std::string_view key) {
  const auto found =
      std::find_if(layer.begin(), layer.end(), [&](const SettingValue& value) { return value.key == key; });
  return found == layer.end() ? nullptr : &*found;
}

/// A column a layer, a row a key that one of them sets.
std::string layers_table(const std::vector<std::string>& names, const std::vector<SettingLayer>& layers) {
  std::vector<std::string> head = {"key"};
  head.insert(head.end(), names.begin(), names.end());
  std::string table = table_head(head);
  for (const SettingKey& key : setting_keys()) {
    std::vector<std::string> cells = {code(key.name)};
    bool is_set = false;
    for (const SettingLayer& layer : layers) {
      const SettingValue* value = value_in(layer, key.name);
      cells.push_back(value == nullptr ? "" : value->values.front());
      is_set |= value != nullptr;
    }
    if (is_set) table += row(cells);
  }
  return table;
}

}  // namespace

std::string settings_document() {
  std::string text =
      "# Settings\n\n"
      "`athanor settings` writes this document from the program's own tables; `athanor settings > docs/settings.md` "
      "renews it.\n\n"
      "Each setting is a key of a settings file (`max_steps: 200`, those of the model in a group `model_config:`), a "
      "flag "
      "of `train` and `plan` (`--max-steps 200`,\n"
      "`--model-config.hidden-size 256`) and a variable (`ATHANOR_MAX_STEPS`, `ATHANOR_MODEL_CONFIG_HIDDEN_SIZE`). A "
      "flag stands above the file, the file above a variable,\n"
      "a variable above a preset or depth. [formats.md](formats.md) says more of those that need it.\n\n"
      "## All settings\n\n";
  text += keys_table();
  text += "\n## What a preset sets\n\n";
  std::vector<std::string> names;
  std::vector<SettingLayer> layers;
  for (const std::string_view name : preset_names()) {
    names.emplace_back(name);
    layers.push_back(preset_values(name));
  }
  text += layers_table(names, layers);
  text +=
      "\nAll else is as above.\n\n## What follows from a depth\n\n`depth` takes any number from 1 to 64; some of "
      "them:\n\n";
  names.clear();
  layers.clear();
  for (const int64_t depth : std::array<int64_t, 6>{2, 4, 6, 8, 12, 24}) {
    names.push_back(fmt::format("depth {}", depth));
    layers.push_back(depth_values(depth));
  }
  return text + layers_table(names, layers);
}

}  // namespace athanor::train
