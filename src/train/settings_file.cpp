// Settings as YAML.
#include "train/setting_layers.h"

#include "base/error.h"
#include "base/mapped_file.h"

#include <yaml-cpp/yaml.h>

#include <map>

namespace athanor::train {

namespace {

using Values = std::vector<std::string>;

Values scalar_values(const YAML::Node& node, std::string_view key_name, std::string_view source) {
  if (node.IsNull()) return {""};
  if (node.IsScalar()) return {node.Scalar()};
  check(node.IsSequence(), "{}: {} must be a value or a list of values", source, key_name);
  Values values;
  for (const YAML::Node& item : node) {
    check(item.IsScalar(), "{}: {} must be a list of plain values", source, key_name);
    values.push_back(item.Scalar());
  }
  return values;
}

/// Files that a run keeps beside its config.yaml are named relative to the settings file, so that they move with it.
Values beside_file(const std::string& file, const std::string& name, Values values) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  for (std::string& value : values) {
    if (name == "choices" && !value.empty() && value != "none") value = (folder / value).string();
    const size_t equals = value.find('=');
    if (name == "kernel" && equals != std::string::npos && equals + 1 < value.size())
      value = value.substr(0, equals + 1) + (folder / value.substr(equals + 1)).string();
  }
  return values;
}

/// The entries of a file, each key once.
class LayerOfFile {
 public:
  explicit LayerOfFile(std::string path) : path_(std::move(path)) {}

  void add(const YAML::Node& map, const std::string& prefix) {
    for (const auto& item : map) {
      const int line = item.first.Mark().line + 1;
      const std::string source = fmt::format("{}: line {}", path_, line);
      check(item.first.IsScalar(), "{}: a key is not plain text", source);
      const std::string name = prefix + item.first.Scalar();
      const auto [before, is_new] = lines_.emplace(name, line);
      check(is_new, "{}: {} stands in lines {} and {}; keep one of them", path_, name, before->second, line);
      if (item.second.IsMap()) {
        check(name == "model_config", "{}: {} is a group of keys, but only model_config is one", source, name);
        add(item.second, name + ".");
      } else {
        layer_.push_back({name, beside_file(path_, name, scalar_values(item.second, name, source)), source});
      }
    }
  }
  SettingLayer take() { return std::move(layer_); }

 private:
  std::string path_;
  std::map<std::string, int, std::less<>> lines_;
  SettingLayer layer_;
};

std::string quoted(const std::string& value) {
  const bool is_plain =
      !value.empty() && value.find_first_not_of(
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+") == std::string::npos;
  if (is_plain) return value;
  YAML::Emitter emitter;
  emitter << YAML::DoubleQuoted << value;
  return emitter.c_str();
}

}  // namespace

SettingLayer read_settings_file(const std::filesystem::path& path) {
  const MappedFile file(path);
  const std::span<const std::byte> bytes = file.bytes();
  check(bytes.size() <= (1 << 20), "{}: {} bytes are too many for a settings file; pass a YAML file", path.string(),
        bytes.size());
  const std::string source = path.string();
  YAML::Node root;
  try {
    const std::vector<YAML::Node> documents =
        YAML::LoadAll(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    check(documents.size() <= 1, "{}: holds {} YAML documents; a settings file is one", source, documents.size());
    if (!documents.empty()) root = documents.front();
  } catch (const YAML::Exception& error) {
    fail("{}: line {}: {}; write YAML lines like \"max_steps: 1000\"", source, error.mark.line + 1, error.msg);
  }
  if (root.IsNull()) return {};
  check(root.IsMap(), "{}: not a map of keys; write lines like \"max_steps: 1000\"", source);
  LayerOfFile layer(source);
  layer.add(root, "");
  return layer.take();
}

std::string to_yaml(const TrainSettings& settings) {
  std::string yaml =
      "# athanor train: every setting of this run as resolved; `athanor train THIS_FILE -o NEW_FOLDER` repeats it.\n";
  bool in_model = false;
  for (const SettingKey& candidate : setting_keys()) {
    const std::vector<std::string> values = candidate.get(settings);
    std::string_view name = candidate.name;
    const bool is_model = name.starts_with("model_config.");
    if (is_model && !in_model) yaml += "model_config:\n";
    in_model = is_model;
    if (is_model) name.remove_prefix(std::string_view("model_config.").size());
    yaml += fmt::format("{}{}: ", is_model ? "  " : "", name);
    if (candidate.is_list) {
      yaml += '[';
      for (size_t i = 0; i < values.size(); ++i) yaml += (i == 0 ? "" : ", ") + quoted(values[i]);
      yaml += "]\n";
    } else {
      yaml += quoted(values.front()) + "\n";
    }
  }
  return yaml;
}

}  // namespace athanor::train
