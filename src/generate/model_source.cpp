// Choosing among checkpoints and reading what lies beside the weights.
#include "generate/model_source.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mapped_file.h"
#include "nn/model_files.h"

namespace athanor::generate {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kPrefix = "checkpoint-";

struct Checkpoint {
  int64_t step = 0;
  fs::path folder;
  std::optional<double> val_loss;
};

std::string read_text(const fs::path& path) {
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

/// The whole text as a number of at least 0.
std::optional<int64_t> number_in(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

std::optional<int64_t> step_in(std::string_view name) {
  return name.starts_with(kPrefix) ? number_in(name.substr(kPrefix.size())) : std::nullopt;
}

/// The val_loss in trainer_state.json; nothing when there is none or the file is damaged, which is no reason not to use another.
std::optional<double> val_loss_in(const fs::path& folder) {
  const fs::path path = folder / "trainer_state.json";
  if (!fs::exists(path)) return std::nullopt;
  const json state = json::parse(read_text(path), nullptr, false);
  if (state.is_discarded() || !state.is_object()) {
    log_warning("{}: not a JSON object; its val_loss is not known", path.string());
    return std::nullopt;
  }
  const auto found = state.find("val_loss");
  if (found == state.end() || !found->is_number() || !std::isfinite(found->get<double>())) return std::nullopt;
  return found->get<double>();
}

/// Lowest step first.
std::vector<Checkpoint> checkpoints_in(const fs::path& run) {
  std::vector<Checkpoint> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
    const std::optional<int64_t> step = step_in(entry.path().filename().string());
    if (step && entry.is_directory()) found.push_back({*step, entry.path(), val_loss_in(entry.path())});
  }
  std::sort(found.begin(), found.end(), [](const Checkpoint& a, const Checkpoint& b) { return a.step < b.step; });
  return found;
}

std::string list_steps(const std::vector<Checkpoint>& checkpoints) {
  std::string list;
  for (const Checkpoint& checkpoint : checkpoints)
    list += fmt::format("{}{}", list.empty() ? "" : ", ", checkpoint.step);
  return list;
}

const Checkpoint* find_step(const std::vector<Checkpoint>& checkpoints, int64_t step) {
  for (const Checkpoint& checkpoint : checkpoints) {
    if (checkpoint.step == step) return &checkpoint;
  }
  return nullptr;
}

const Checkpoint& latest_of(const std::vector<Checkpoint>& checkpoints, const fs::path& run) {
  const fs::path path = run / "latest";
  if (!fs::exists(path)) return checkpoints.back();
  std::string name = read_text(path);
  while (!name.empty() && (name.back() == '\n' || name.back() == '\r')) name.pop_back();
  // Only the step is taken from the file, so that it cannot lead out of the run.
  const std::optional<int64_t> step = step_in(name);
  const Checkpoint* named = step ? find_step(checkpoints, *step) : nullptr;
  constexpr size_t kShown = 80;
  check(named != nullptr,
        "{}: names \"{}\", which is no checkpoint of this run; pass --checkpoint with one that is there: {}",
        path.string(), name.substr(0, kShown), list_steps(checkpoints));
  return *named;
}

const Checkpoint* best_of(const std::vector<Checkpoint>& checkpoints) {
  const Checkpoint* best = nullptr;
  for (const Checkpoint& checkpoint : checkpoints) {
    if (!checkpoint.val_loss) continue;
    if (best == nullptr || *checkpoint.val_loss <= *best->val_loss) best = &checkpoint;
  }
  return best;
}

ModelSource chosen(const Checkpoint& checkpoint, std::string reason) {
  return {checkpoint.folder, checkpoint.step, checkpoint.val_loss, std::move(reason)};
}

ModelSource choose(const fs::path& run, const std::vector<Checkpoint>& checkpoints, std::string_view which) {
  const std::string of_all = fmt::format("of {} checkpoint{}", checkpoints.size(), checkpoints.size() == 1 ? "" : "s");
  if (which.empty() || which == "best") {
    if (const Checkpoint* best = best_of(checkpoints)) return chosen(*best, "best by val_loss " + of_all);
    return chosen(latest_of(checkpoints, run), "the latest " + of_all + ", none has a val_loss");
  }
  if (which == "latest") return chosen(latest_of(checkpoints, run), "the latest " + of_all);
  const std::optional<int64_t> step = number_in(which);
  check(step.has_value(), "checkpoint \"{}\": pass best, latest or a step; {} has: {}", which, run.string(),
        list_steps(checkpoints));
  const Checkpoint* found = find_step(checkpoints, *step);
  check(found != nullptr, "{}: has no checkpoint of step {}; there are: {}", run.string(), *step,
        list_steps(checkpoints));
  return chosen(*found, "as asked, " + of_all);
}

json read_json_if_there(const fs::path& path) {
  if (!fs::exists(path)) return json::object();
  json object = json::parse(read_text(path), nullptr, false);
  check(!object.is_discarded() && object.is_object(),
        "{}: not a JSON object; remove it or take it from the model again", path.string());
  return object;
}

/// Ids of an entry that is one id or a list of them.
void add_ids(const json& object, const char* key, int64_t vocabulary, const fs::path& path,
             std::vector<uint32_t>& ids) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return;
  const json list = found->is_array() ? *found : json::array({*found});
  for (const json& id : list) {
    check(id.is_number_integer() && id.get<int64_t>() >= 0 && id.get<int64_t>() < vocabulary,
          "{}: {} holds {}; token ids lie between 0 and {}", path.string(), key, id.dump(), vocabulary - 1);
    ids.push_back(static_cast<uint32_t>(id.get<int64_t>()));
  }
}

std::vector<uint32_t> end_tokens_of(const fs::path& folder, const nn::LlamaConfig& config,
                                    const data::Tokenizer& tokenizer) {
  std::vector<uint32_t> ids;
  for (const char* name : {"config.json", "generation_config.json"}) {
    add_ids(read_json_if_there(folder / name), "eos_token_id", config.vocab_size, folder / name, ids);
  }
  if (const std::optional<uint32_t> end = tokenizer.special(data::kEndOfText)) ids.push_back(*end);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

/// A token's text, which Hugging Face writes plainly or as an object.
std::optional<std::string> token_text(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (found->is_object() && found->contains("content") && (*found)["content"].is_string())
    return (*found)["content"].get<std::string>();
  return std::nullopt;
}

/// What tokenizer_config.json asks for by add_bos_token, or the template in tokenizer.json puts before a text.
std::vector<uint32_t> leading_tokens_of(const fs::path& folder, const data::Tokenizer& tokenizer) {
  const json settings = read_json_if_there(folder / "tokenizer_config.json");
  std::vector<uint32_t> ids;
  const auto add = [&](const std::optional<std::string>& text) {
    const std::optional<uint32_t> id = text ? tokenizer.special(*text) : std::nullopt;
    if (id) ids.push_back(*id);
  };
  const auto add_bos = settings.find("add_bos_token");
  if (add_bos != settings.end() && add_bos->is_boolean()) {
    if (add_bos->get<bool>()) add(token_text(settings, "bos_token"));
    return ids;
  }
  const json file = json::parse(tokenizer.to_json(), nullptr, false);
  json processors = json::array();
  if (file.is_object() && file.contains("post_processor")) processors.push_back(file["post_processor"]);
  if (!processors.empty() && processors[0].is_object() && processors[0].contains("processors")) {
    processors = processors[0]["processors"];
  }
  if (!processors.is_array()) return ids;
  for (const json& processor : processors) {
    if (!processor.is_object() || processor.value("type", json()) != "TemplateProcessing") continue;
    const json single = processor.value("single", json::array());
    for (const json& part : single.is_array() ? single : json::array()) {
      if (!part.is_object() || !part.contains("SpecialToken") || !part["SpecialToken"].is_object()) break;
      add(token_text(part["SpecialToken"], "id"));
    }
  }
  return ids;
}

/// Compares what is read with the hashes that the trainer kept.
void check_hashes(const fs::path& folder) {
  const fs::path state_path = folder / "trainer_state.json";
  const json state = read_json_if_there(state_path);
  const auto hashes = state.find("files");
  if (hashes == state.end() || !hashes->is_object()) return;
  for (const auto& [name, hash] : hashes->items()) {
    const bool is_read = name == "config.json" || name == "tokenizer.json" ||
                         (name.starts_with("model") && name.ends_with(".safetensors"));
    if (!is_read || fs::path(name).filename() != fs::path(name)) continue;
    check(fs::exists(folder / name), "{}: is missing from the checkpoint; pass --checkpoint with another one",
          (folder / name).string());
    check(hash.is_string() && hash_file(folder / name) == hash.get<std::string>(),
          "{}: is truncated or altered (its hash is not the one in trainer_state.json); pass --checkpoint with another "
          "one",
          (folder / name).string());
  }
}

/// A run that averages its weights saves the average as the model.
void name_average(const fs::path& folder) {
  const json state = read_json_if_there(folder / "trainer_state.json");
  const auto decay = state.find("ema_decay");
  if (decay == state.end() || !decay->is_number() || decay->get<double>() <= 0) return;
  log_info("{}: the weights are the average of the weights over the steps (ema_decay {:g})", folder.string(),
           decay->get<double>());
}

/// Everything but the weights, checked.
TextParts read_text_parts(const fs::path& folder) {
  check_hashes(folder);
  name_average(folder);
  const fs::path tokenizer_path = folder / "tokenizer.json";
  check(fs::exists(tokenizer_path), "{}: is missing; a model folder holds the tokenizer that it was trained with",
        tokenizer_path.string());
  data::Tokenizer tokenizer = data::Tokenizer::load(tokenizer_path);
  const nn::LlamaConfig config = nn::config_in(folder);
  check(tokenizer.vocab_size() <= config.vocab_size,
        "{}: has {} ids but config.json gives the model {}; they are of two models", tokenizer_path.string(),
        tokenizer.vocab_size(), config.vocab_size);
  std::vector<uint32_t> end_tokens = end_tokens_of(folder, config, tokenizer);
  std::vector<uint32_t> leading_tokens = leading_tokens_of(folder, tokenizer);
  return {std::move(tokenizer), std::move(end_tokens), std::move(leading_tokens)};
}

}  // namespace

ModelSource find_model(const fs::path& path, std::string_view checkpoint) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  check(fs::exists(status), "{}: no such folder; pass a model folder, a run or a checkpoint", path.string());
  check(fs::is_directory(status), "{}: is a file; this version reads model folders (config.json), runs and checkpoints",
        path.string());
  if (fs::exists(path / "config.json")) {
    check(checkpoint.empty(),
          "{}: is a model, not a run, so there is no checkpoint \"{}\" to choose; leave --checkpoint out",
          path.string(), checkpoint);
    return {path, std::nullopt, std::nullopt, ""};
  }
  const std::vector<Checkpoint> checkpoints = checkpoints_in(path);
  check(!checkpoints.empty(),
        "{}: holds neither a model (config.json) nor a run's checkpoints (checkpoint-<step>/); {}", path.string(),
        fs::exists(path / "config.yaml") ? "train it until its first checkpoint"
                                         : "pass a model folder, a run or a checkpoint");
  return choose(path, checkpoints, checkpoint);
}

LoadedModel load_model(device::Stream& stream, const ModelSource& source) {
  TextParts text = read_text_parts(source.folder);
  return {std::move(text), nn::load_model(stream, source.folder, nn::Trained::No)};
}

LoadedDecoder load_decoder(device::Stream& stream, const ModelSource& source, WeightFormat format) {
  TextParts text = read_text_parts(source.folder);
  const nn::LlamaConfig config = nn::config_in(source.folder);
  return {std::move(text), upload_weights(stream, config, nn::weights_in(config, source.folder), format)};
}

}  // namespace athanor::generate
