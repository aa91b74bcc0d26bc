// Writing and reading checkpoints.
#include "train/checkpoint.h"

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mapped_file.h"
#include "base/safetensors.h"
#include "nn/model_files.h"

#include <nlohmann/json.hpp>

namespace athanor::train {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr const char* kStateFile = "trainer_state.json";
constexpr const char* kOptimizerFile = "optimizer.safetensors";

struct MomentPlace {
  std::string name;
  device::Buffer buffer;
  std::vector<int64_t> shape;
};

/// One entry a tensor and moment, laid out as on the device ([in, out]); so the file does not depend on how slabs are cut.
std::vector<MomentPlace> moment_places(const nn::Llama& model, const Adamw& optimizer) {
  std::vector<MomentPlace> places;
  for (const nn::Parameter& parameter : model.parameters().all()) {
    const Adamw::Moments& moments = optimizer.moments()[static_cast<size_t>(parameter.slab)];
    const int64_t bytes = parameter.spec.shape.num_elements() * 4;
    const std::vector<int64_t> shape(parameter.spec.shape.extents().begin(), parameter.spec.shape.extents().end());
    places.push_back({parameter.spec.name + ".exp_avg", moments.m.slice(parameter.offset * 4, bytes), shape});
    places.push_back({parameter.spec.name + ".exp_avg_sq", moments.v.slice(parameter.offset * 4, bytes), shape});
  }
  return places;
}

void save_optimizer(device::Stream& stream, const nn::Llama& model, const Adamw& optimizer, const fs::path& path) {
  std::vector<float> values;  // of the tensor being written
  std::vector<TensorToWrite> tensors;
  for (const MomentPlace& place : moment_places(model, optimizer)) {
    TensorToWrite entry;
    entry.name = place.name;
    entry.shape = place.shape;
    entry.produce = [&stream, &values, buffer = place.buffer]() -> std::span<const std::byte> {
      values = tensor::to_values(stream, buffer);
      return std::as_bytes(std::span(values));
    };
    tensors.push_back(std::move(entry));
  }
  write_safetensors(path, tensors, {{"format", "athanor.adamw"}});
}

std::string generation_config(const nn::LlamaConfig& config) {
  ordered_json object;
  if (config.bos_token_id >= 0) object["bos_token_id"] = config.bos_token_id;
  if (config.eos_token_id >= 0) object["eos_token_id"] = config.eos_token_id;
  object["do_sample"] = true;
  object["temperature"] = 0.8;
  return object.dump(2) + "\n";
}

/// Of trainer_state.json without its own hash, in its order of keys.
std::string hash_of(const ordered_json& object) {
  const std::string text = object.dump();
  return hash_hex(std::as_bytes(std::span(text)));
}

std::string state_json(const TrainerState& state, const fs::path& folder) {
  ordered_json object;
  object["step"] = state.step;
  object["applied_steps"] = state.applied_steps;
  object["trained_tokens"] = state.trained_tokens;
  object["seed"] = state.seed;
  object["train_loss"] = state.train_loss;
  object["val_loss"] = state.val_loss ? ordered_json(*state.val_loss) : ordered_json(nullptr);
  object["data_hash"] = state.data_hash;
  object["data_order"] = state.data_order;
  object["device"] = state.device;
  object["settings"] = state.settings;
  ordered_json hashes = ordered_json::object();
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) hashes[name] = hash_file(folder / name);
  object["files"] = hashes;
  object["hash"] = hash_of(object);
  return object.dump(2) + "\n";
}

template <typename T>
T field(const json& object, const char* name, const fs::path& path) {
  const auto found = object.find(name);
  bool fits = found != object.end();
  if constexpr (std::is_same_v<T, std::string>) {
    fits = fits && found->is_string();
  } else if constexpr (std::is_integral_v<T>) {
    fits = fits && found->is_number_integer() && (found->is_number_unsigned() || found->template get<int64_t>() >= 0);
  } else {
    fits = fits && found->is_number();
  }
  check(fits, "{}: {} is missing or of the wrong kind; remove the checkpoint folder to go on from an older one",
        path.string(), name);
  return found->template get<T>();
}

void check_hashes(const json& object, std::string_view text, const fs::path& checkpoint) {
  const fs::path state_path = checkpoint / kStateFile;
  ordered_json without_hash = ordered_json::parse(text);
  without_hash.erase("hash");
  check(field<std::string>(object, "hash", state_path) == hash_of(without_hash),
        "{}: was altered (its hash is another); remove the checkpoint folder to go on from an older one",
        state_path.string());
  const auto files = object.find("files");
  check(files != object.end() && files->is_object(), "{}: files is missing; the checkpoint was altered, take another",
        state_path.string());
  for (const auto& [name, hash] : files->items()) {
    check(fs::path(name).filename() == fs::path(name) && hash.is_string(),
          "{}: files names \"{}\"; the checkpoint was altered", state_path.string(), name);
    const fs::path path = checkpoint / name;
    check(fs::exists(path),
          "{}: is missing from the checkpoint; remove the checkpoint folder to go on from an older one", path.string());
    check(hash_file(path) == hash.get<std::string>(),
          "{}: is truncated or altered (its hash is not the one in {}); remove the checkpoint folder to go on from an "
          "older one",
          path.string(), kStateFile);
  }
}

}  // namespace

void save_checkpoint(device::Stream& stream, const RunFolder& run, const nn::Llama& model, const Adamw& optimizer,
                     const data::Tokenizer& tokenizer, const TrainerState& state) {
  AtomicFolder folder(run.checkpoint(state.step));
  nn::save_model(stream, model, folder.path());
  write_file(folder.path() / "tokenizer.json", tokenizer.to_json());
  write_file(folder.path() / "tokenizer_config.json", tokenizer.config_json(model.config().max_position_embeddings));
  write_file(folder.path() / "generation_config.json", generation_config(model.config()));
  save_optimizer(stream, model, optimizer, folder.path() / kOptimizerFile);
  write_file(folder.path() / kStateFile, state_json(state, folder.path()));
  folder.commit();
  run.set_latest(state.step);
}

TrainerState read_trainer_state(const fs::path& checkpoint) {
  const fs::path path = checkpoint / kStateFile;
  check(fs::exists(path), "{}: is missing; a checkpoint without it cannot be resumed, only generated from",
        path.string());
  const MappedFile file(path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  const json object = json::parse(text, nullptr, false);
  check(!object.is_discarded() && object.is_object(),
        "{}: is truncated or altered; remove the checkpoint folder to go on from an older one", path.string());
  TrainerState state;
  state.step = field<int64_t>(object, "step", path);
  state.applied_steps = field<int64_t>(object, "applied_steps", path);
  state.trained_tokens = field<int64_t>(object, "trained_tokens", path);
  state.seed = field<uint64_t>(object, "seed", path);
  state.train_loss = field<double>(object, "train_loss", path);
  state.data_hash = field<std::string>(object, "data_hash", path);
  check(object.contains("data_order"),
        "{}: was made by an older athanor, which took the rows of the text in another order; generate from it, or "
        "begin a "
        "new run",
        path.string());
  state.data_order = field<std::string>(object, "data_order", path);
  state.device = field<std::string>(object, "device", path);
  state.settings = field<std::string>(object, "settings", path);
  const auto val_loss = object.find("val_loss");
  if (val_loss != object.end() && val_loss->is_number()) state.val_loss = val_loss->get<double>();
  check(state.applied_steps <= state.step, "{}: {} applied of {} steps; the checkpoint was altered, take another",
        path.string(), state.applied_steps, state.step);
  check_hashes(object, text, checkpoint);
  return state;
}

void load_checkpoint(device::Stream& stream, const fs::path& checkpoint, nn::Llama& model, Adamw& optimizer) {
  nn::load_weights(stream, model, checkpoint);
  const fs::path path = checkpoint / kOptimizerFile;
  check(fs::exists(path),
        "{}: is missing: the checkpoint holds no optimizer state and cannot be resumed, only generated from",
        path.string());
  const SafetensorsFile file(path);
  const std::vector<MomentPlace> places = moment_places(model, optimizer);
  check(file.names().size() == places.size(), "{}: holds {} tensors but the model needs {}; it is of another model",
        path.string(), file.names().size(), places.size());
  for (const MomentPlace& place : places) {
    const TensorEntry* entry = file.find(place.name);
    check(entry != nullptr && entry->dtype == DType::F32 && entry->shape == place.shape,
          "{}: {} is missing or of another shape; it is of another model", path.string(), place.name);
    stream.upload(place.buffer, entry->bytes);
  }
}

void remove_old_checkpoints(const RunFolder& run, int64_t limit) {
  if (limit <= 0) return;
  const std::vector<CheckpointEntry> all = run.checkpoints();
  std::optional<int64_t> best;
  double best_loss = 0;
  for (const CheckpointEntry& entry : all) {
    const fs::path path = entry.path / kStateFile;
    if (!fs::exists(path)) continue;
    const MappedFile file(path);
    const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
    const json object = json::parse(text, nullptr, false);
    if (object.is_discarded() || !object.is_object() || !object.contains("val_loss") || !object["val_loss"].is_number())
      continue;
    const double loss = object["val_loss"].get<double>();
    if (!best || loss <= best_loss) {
      best = entry.step;
      best_loss = loss;
    }
  }
  const int64_t removable = static_cast<int64_t>(all.size()) - limit;
  for (int64_t i = 0; i < removable; ++i) {
    const CheckpointEntry& entry = all[static_cast<size_t>(i)];
    if (best && entry.step == *best) continue;
    std::error_code error;
    fs::remove_all(entry.path, error);
    if (error) log_warning("{}: the old checkpoint cannot be removed: {}", entry.path.string(), error.message());
  }
}

}  // namespace athanor::train
