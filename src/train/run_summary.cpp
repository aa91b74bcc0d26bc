// Reading config.yaml and metrics.jsonl.
#include "train/run_summary.h"

#include "base/error.h"
#include "base/mapped_file.h"
#include "train/run_files.h"

#include <nlohmann/json.hpp>

#include <fmt/ranges.h>

#include <cmath>

namespace athanor::train {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::optional<double> number_in(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number() || !std::isfinite(found->get<double>())) return std::nullopt;
  return found->get<double>();
}

void add_line(const std::string& line, RunSummary& run, double& seconds_for_tokens, double& counted) {
  const json object = json::parse(line, nullptr, false);
  const bool is_known = !object.is_discarded() && object.is_object() && object.contains("step") &&
                        object["step"].is_number_integer() && object["step"].get<int64_t>() >= 0;
  if (!is_known) {
    run.unread_lines += 1;
    return;
  }
  const int64_t step = object["step"].get<int64_t>();
  if (const auto loss = number_in(object, "loss")) run.train.push_back({step, *loss});
  if (const auto loss = number_in(object, "val_loss")) run.validation.push_back({step, *loss});
  if (const auto bits = number_in(object, "bits_per_byte")) run.bits_per_byte = *bits;
  const auto tokens = object.find("trained_tokens");
  if (tokens != object.end() && tokens->is_number_integer() && tokens->get<int64_t>() >= 0)
    run.trained_tokens = tokens->get<int64_t>();
  if (const auto rate = number_in(object, "tokens_per_second"); rate && *rate > 0) {
    seconds_for_tokens += 1 / *rate;
    counted += 1;
  }
}

void read_metrics(const fs::path& path, RunSummary& run) {
  if (!fs::exists(path)) return;
  const MappedFile file(path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  double seconds_for_tokens = 0;  // a mean over time: each step has equally many tokens
  double counted = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) add_line(std::string(text.substr(begin, end - begin)), run, seconds_for_tokens, counted);
    begin = end + 1;
  }
  if (seconds_for_tokens > 0) run.tokens_per_second = counted / seconds_for_tokens;
}

const std::string* value_of(const RunSummary& run, const std::string& key) {
  for (const auto& [name, value] : run.settings) {
    if (name == key) return &value;
  }
  return nullptr;
}

}  // namespace

std::optional<LossPoint> RunSummary::best() const {
  std::optional<LossPoint> best;
  for (const LossPoint& point : validation) {
    if (!best || point.loss < best->loss) best = point;
  }
  return best;
}

RunSummary read_run(const fs::path& path) {
  const RunFolder folder(path);
  check(fs::is_directory(path) && folder.holds_run(), "{}: holds no run; pass a folder that `athanor train -o` made",
        path.string());
  RunSummary run;
  run.path = path.string();
  if (const std::optional<TrainSettings> settings = settings_of_run(folder)) {
    for (const SettingKey& key : setting_keys())
      run.settings.emplace_back(key.name, fmt::format("{}", fmt::join(key.get(*settings), " ")));
    // config.yaml leaves the vocabulary to the tokenizer; for a trained one it stands in vocab_size.
    nn::LlamaConfig model = settings->model_config;
    model.vocab_size = settings->vocab_size;
    if (model.hidden_size > 0 && model.vocab_size > 0) run.num_weights = model.num_weights();
  }
  read_metrics(folder.metrics(), run);
  for (const CheckpointEntry& entry : folder.checkpoints()) run.checkpoints.push_back(entry.step);
  return run;
}

std::vector<std::string> differing_settings(const std::vector<RunSummary>& runs) {
  std::vector<std::string> keys;
  for (const auto& [key, first] : runs.front().settings) {
    if (key == "output_dir") continue;
    for (const RunSummary& run : runs) {
      const std::string* value = value_of(run, key);
      if (value != nullptr && *value == first) continue;
      keys.push_back(key);
      break;
    }
  }
  return keys;
}

}  // namespace athanor::train
