// Writing and reading checkpoints.
#include "train/checkpoint.h"

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mapped_file.h"
#include "base/safetensors.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace athanor::train {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr const char* kStateFile = "trainer_state.json";
constexpr const char* kOptimizerFile = "optimizer.safetensors";

/// "athanor.adamw" for adamw_torch, since the first version wrote it so.
std::string format_of(const Optimizer& optimizer) {
  return optimizer.name() == "adamw_torch" ? "athanor.adamw" : fmt::format("athanor.{}", optimizer.name());
}

std::vector<StateTensor> state_of(const CheckpointParts& parts) {
  std::vector<StateTensor> state = parts.optimizer.state();
  if (parts.average != nullptr) {
    for (StateTensor& trained : parts.average->state()) state.push_back(std::move(trained));
  }
  return state;
}

/// One entry a tensor and part of the state, laid out as on the device ([in, out]); so the file does not depend on how slabs are cut.
void save_optimizer(const nn::ReadBuffer& read, const CheckpointParts& parts, const fs::path& path) {
  std::vector<TensorToWrite> tensors;
  for (const StateTensor& part : state_of(parts)) {
    TensorToWrite entry;
    entry.name = part.name;
    entry.dtype = part.dtype;
    entry.shape = part.shape;
    entry.produce = [&read, buffer = part.buffer] { return read(buffer); };
    tensors.push_back(std::move(entry));
  }
  write_safetensors(path, tensors, {{"format", format_of(parts.optimizer)}});
}

const TensorEntry& state_entry(const SafetensorsFile& file, const StateTensor& part) {
  const TensorEntry* entry = file.find(part.name);
  check(entry != nullptr && entry->dtype == part.dtype && entry->shape == part.shape,
        "{}: {} is missing or of another shape; it is of another model", file.path().string(), part.name);
  return *entry;
}

void load_average(device::Stream& stream, const SafetensorsFile& file, nn::Llama& model, WeightAverage& average) {
  // The model's file filled the weights with the average; the swap puts each in its place.
  for (const StateTensor& part : average.state()) stream.upload(part.buffer, state_entry(file, part).bytes);
  average.swap(stream);
  model.parameters().refresh_mirror(stream);
}

void load_trained_weights(device::Stream& stream, const SafetensorsFile& file, nn::Llama& model) {
  for (const nn::Parameter& parameter : model.parameters().all()) {
    const StateTensor part{parameter.spec.name + kTrainedSuffix, DType::F32, extents_of(parameter),
                           parameter.values.buffer()};
    stream.upload(part.buffer, state_entry(file, part).bytes);
  }
  model.parameters().refresh_mirror(stream);
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

/// JSON knows neither NaN nor infinity.
ordered_json number_or_null(std::optional<double> value) {
  return value && std::isfinite(*value) ? ordered_json(*value) : ordered_json(nullptr);
}

std::string state_json(const TrainerState& state, const fs::path& folder) {
  ordered_json object;
  object["step"] = state.step;
  object["applied_steps"] = state.applied_steps;
  object["trained_tokens"] = state.trained_tokens;
  object["seed"] = state.seed;
  object["train_loss"] = number_or_null(state.train_loss);
  object["val_loss"] = number_or_null(state.val_loss);
  object["best_val_loss"] = number_or_null(state.best_val_loss);
  object["stale_evaluations"] = state.stale_evaluations;
  object["schedule_steps"] = state.schedule_steps;
  object["ema_decay"] = state.ema_decay;
  object["guard"] = ordered_json::parse(state.guard.to_json());
  object["data_hash"] = state.data_hash;
  object["data_order"] = state.data_order;
  object["device"] = state.device;
  object["choices"] = state.choices ? ordered_json(*state.choices) : ordered_json(nullptr);
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
  } else if constexpr (std::is_same_v<T, json>) {
    fits = fits && found->is_object();
  } else if constexpr (std::is_integral_v<T>) {
    fits = fits && found->is_number_integer() && (found->is_number_unsigned() || found->template get<int64_t>() >= 0);
  } else {
    fits = fits && found->is_number();
  }
  check(fits, "{}: {} is missing or of the wrong kind", path.string(), name);
  return found->template get<T>();
}

/// Nothing where the number is null or missing.
std::optional<double> number_of(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

void check_hashes(const json& object, std::string_view text, const fs::path& checkpoint) {
  const fs::path state_path = checkpoint / kStateFile;
  ordered_json without_hash = ordered_json::parse(text);
  without_hash.erase("hash");
  check(field<std::string>(object, "hash", state_path) == hash_of(without_hash),
        "{}: was altered (its hash is another)", state_path.string());
  const auto files = object.find("files");
  check(files != object.end() && files->is_object(), "{}: files is missing; the checkpoint was altered, take another",
        state_path.string());
  for (const auto& [name, hash] : files->items()) {
    check(fs::path(name).filename() == fs::path(name) && hash.is_string(),
          "{}: files names \"{}\"; the checkpoint was altered", state_path.string(), name);
    const fs::path path = checkpoint / name;
    check(fs::exists(path), "{}: is missing from the checkpoint", path.string());
    check(hash_file(path) == hash.get<std::string>(), "{}: is truncated or altered (its hash is not the one in {})",
          path.string(), kStateFile);
  }
}

}  // namespace

std::vector<device::Buffer> CheckpointParts::buffers() const {
  std::vector<device::Buffer> buffers;
  for (const nn::Parameter& parameter : model.parameters().all()) buffers.push_back(parameter.values.buffer());
  for (const StateTensor& part : state_of(*this)) buffers.push_back(part.buffer);
  return buffers;
}

void save_checkpoint(const nn::ReadBuffer& read, const RunFolder& run, const CheckpointParts& parts,
                     const data::Tokenizer& tokenizer, const TrainerState& state) {
  const nn::LlamaConfig& config = parts.model.config();
  AtomicFolder folder(run.checkpoint(state.step));
  nn::save_model(read, parts.model, folder.path());
  kill_point("kill-model-written");
  write_file(folder.path() / "tokenizer.json", tokenizer.to_json());
  write_file(folder.path() / "tokenizer_config.json", tokenizer.config_json(config.max_position_embeddings));
  write_file(folder.path() / "generation_config.json", generation_config(config));
  save_optimizer(read, parts, folder.path() / kOptimizerFile);
  kill_point("kill-optimizer-written");
  write_file(folder.path() / kStateFile, state_json(state, folder.path()));
  kill_point("kill-state-written");
  folder.commit();
  kill_point("kill-before-latest");
  run.set_latest(state.step);
  kill_point("kill-after-latest");
}

void save_checkpoint(device::Stream& stream, const RunFolder& run, const CheckpointParts& parts,
                     const data::Tokenizer& tokenizer, const TrainerState& state) {
  save_checkpoint(nn::read_from(stream), run, parts, tokenizer, state);
}

TrainerState read_trainer_state(const fs::path& checkpoint) {
  const fs::path path = checkpoint / kStateFile;
  check(fs::exists(path), "{}: is missing; a checkpoint without it cannot be resumed, only generated from",
        path.string());
  const MappedFile file(path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  const json object = json::parse(text, nullptr, false);
  check(!object.is_discarded() && object.is_object(), "{}: is truncated or altered", path.string());
  check_hashes(object, text, checkpoint);
  TrainerState state;
  state.step = field<int64_t>(object, "step", path);
  state.applied_steps = field<int64_t>(object, "applied_steps", path);
  state.trained_tokens = field<int64_t>(object, "trained_tokens", path);
  state.seed = field<uint64_t>(object, "seed", path);
  state.train_loss = number_of(object, "train_loss").value_or(std::numeric_limits<double>::quiet_NaN());
  state.data_hash = field<std::string>(object, "data_hash", path);
  state.data_order = field<std::string>(object, "data_order", path);
  state.device = field<std::string>(object, "device", path);
  if (object.contains("choices") && !object["choices"].is_null())
    state.choices = field<std::string>(object, "choices", path);
  state.settings = field<std::string>(object, "settings", path);
  state.val_loss = number_of(object, "val_loss");
  state.best_val_loss = number_of(object, "best_val_loss");
  state.stale_evaluations = field<int64_t>(object, "stale_evaluations", path);
  state.schedule_steps = field<int64_t>(object, "schedule_steps", path);
  state.guard = GuardState::from_json(field<json>(object, "guard", path).dump(), path.string());
  check(state.applied_steps <= state.step, "{}: {} applied of {} steps; the checkpoint was altered, take another",
        path.string(), state.applied_steps, state.step);
  return state;
}

std::string fault_of_checkpoint(const fs::path& checkpoint) {
  try {
    read_trainer_state(checkpoint);
    return "";
  } catch (const Error& fault) {
    return fault.what();
  }
}

std::optional<WholeCheckpoint> find_whole_checkpoint(const RunFolder& run, int64_t below) {
  std::vector<CheckpointEntry> candidates = run.checkpoints();
  std::reverse(candidates.begin(), candidates.end());
  std::erase_if(candidates, [below](const CheckpointEntry& entry) { return entry.step >= below; });
  if (candidates.empty()) return std::nullopt;
  const std::optional<CheckpointEntry> latest = run.latest();
  const auto is_latest = [&](const CheckpointEntry& entry) { return latest && entry.step == latest->step; };
  std::stable_partition(candidates.begin(), candidates.end(), is_latest);
  std::string faults;
  for (const CheckpointEntry& entry : candidates) {
    try {
      TrainerState state = read_trainer_state(entry.path);
      if (!faults.empty()) log_warning("{}; going on from {}, which is whole", faults, entry.path.string());
      return WholeCheckpoint{entry, std::move(state)};
    } catch (const Error& error) {
      faults += (faults.empty() ? "" : "; ") + std::string(error.what());
    }
  }
  fail("{}: no checkpoint of this run is whole: {}; begin again in another folder", run.path().string(), faults);
}

void load_checkpoint(device::Stream& stream, const fs::path& checkpoint, nn::Llama& model, Optimizer& optimizer,
                     WeightAverage* average) {
  nn::load_weights(stream, model, checkpoint);
  const fs::path path = checkpoint / kOptimizerFile;
  check(fs::exists(path),
        "{}: is missing: the checkpoint holds no optimizer state and cannot be resumed, only generated from",
        path.string());
  const SafetensorsFile file(path);
  const auto format = file.metadata().find("format");
  check(
      format != file.metadata().end() && format->second == format_of(optimizer),
      "{}: was written by another optimizer (format \"{}\") but the settings say optim: {}; resume with the optimizer "
      "that the run was begun with",
      path.string(), format == file.metadata().end() ? "" : format->second, optimizer.name());
  const std::vector<StateTensor> state = optimizer.state();
  size_t trained = 0;
  for (const std::string& name : file.names()) trained += name.ends_with(kTrainedSuffix) ? 1 : 0;
  check(file.names().size() == state.size() + trained,
        "{}: holds {} tensors but the model needs {}; it is of another model", path.string(),
        file.names().size() - trained, state.size());
  for (const StateTensor& part : state) stream.upload(part.buffer, state_entry(file, part).bytes);
  if (average != nullptr && trained > 0) {
    load_average(stream, file, model, *average);
  } else if (trained > 0) {
    load_trained_weights(stream, file, model);
  } else if (average != nullptr) {
    average->restart(stream);
  }
}

void remove_old_checkpoints(const RunFolder& run, int64_t limit, int64_t kept) {
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
    if ((best && entry.step == *best) || entry.step == kept) continue;
    std::error_code error;
    fs::remove_all(entry.path, error);
    if (error) log_warning("{}: the old checkpoint cannot be removed: {}", entry.path.string(), error.message());
  }
}

void remove_newer_checkpoints(const RunFolder& run, int64_t step) {
  if (step > 0) {
    run.set_latest(step);
  } else {
    std::error_code ignored;
    fs::remove(run.path() / "latest", ignored);
  }
  for (const CheckpointEntry& entry : run.checkpoints()) {
    if (entry.step <= step) continue;
    log_warning("{}: was saved when the run was in trouble already; it is removed", entry.path.string());
    std::error_code error;
    fs::remove_all(entry.path, error);
    check(!error, "{}: cannot be removed: {}; remove it by hand and go on with --resume", entry.path.string(),
          error.message());
  }
}

}  // namespace athanor::train
