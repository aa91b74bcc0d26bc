// Model folders. Nothing in the file is believed before it was compared with the configuration.
#include "nn/model_files.h"

#include "base/safetensors.h"

#include <nlohmann/json.hpp>

#include <fmt/ranges.h>

#include <bit>
#include <cstring>
#include <map>
#include <set>

namespace athanor::nn {

namespace {

namespace fs = std::filesystem;

float half_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1FU;
  const uint32_t mantissa = bits & 0x3FFU;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float subnormal = static_cast<float>(mantissa) * 0x1p-24F;
  return sign != 0 ? -subnormal : subnormal;
}

/// The file's values as f32, whatever floating type and alignment they have.
std::vector<float> as_floats(const TensorEntry& entry) {
  const size_t count = static_cast<size_t>(entry.num_elements());
  std::vector<float> values(count);
  if (entry.dtype == DType::F32) {
    std::memcpy(values.data(), entry.bytes.data(), entry.bytes.size());
    return values;
  }
  std::vector<uint16_t> halves(count);
  std::memcpy(halves.data(), entry.bytes.data(), entry.bytes.size());
  for (size_t i = 0; i < count; ++i) {
    values[i] = entry.dtype == DType::F16 ? half_to_float(halves[i])
                                          : std::bit_cast<float>(static_cast<uint32_t>(halves[i]) << 16);
  }
  return values;
}

std::vector<int64_t> file_shape(const ParameterSpec& spec) {
  std::vector<int64_t> shape(spec.shape.extents().begin(), spec.shape.extents().end());
  if (spec.layout == FileLayout::Transposed) std::swap(shape[0], shape[1]);
  return shape;
}

/// The safetensors files of a folder: one, or the shards that an index names. A shard is a plain file name, never a path.
std::vector<fs::path> weight_files(const fs::path& folder) {
  const fs::path single = folder / "model.safetensors";
  if (fs::exists(single)) return {single};
  const fs::path index_path = folder / "model.safetensors.index.json";
  check(fs::exists(index_path),
        "{}: holds neither model.safetensors nor model.safetensors.index.json; pass a model folder", folder.string());
  const MappedFile index_file(index_path);
  const std::span<const std::byte> bytes = index_file.bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const nlohmann::json index = nlohmann::json::parse(text, nullptr, false);
  check(!index.is_discarded() && index.is_object() && index.contains("weight_map") && index["weight_map"].is_object(),
        "{}: not a JSON object with weight_map", index_path.string());
  std::set<std::string> names;
  for (const auto& [tensor, file] : index["weight_map"].items()) {
    check(file.is_string(), "{}: weight_map.{} is not a file name", index_path.string(), tensor);
    const std::string name = file.get<std::string>();
    check(!name.empty() && fs::path(name).filename() == fs::path(name) && name != "." && name != "..",
          "{}: {} is not a plain file name; shards lie beside the index", index_path.string(), name);
    names.insert(name);
  }
  std::vector<fs::path> files;
  for (const std::string& name : names) files.push_back(folder / name);
  return files;
}

/// True for tensors that other programs write though they follow from others.
bool is_redundant(const LlamaConfig& config, std::string_view name) {
  return name.ends_with(".rotary_emb.inv_freq") || (config.tie_word_embeddings && name == "lm_head.weight");
}

void check_tensor(const ParameterSpec& spec, const TensorEntry& entry, const fs::path& path) {
  const std::vector<int64_t> wanted = file_shape(spec);
  check(entry.shape == wanted, "{}: {} has shape ({}) but config.json makes it ({}); the files are of two models",
        path.string(), spec.name, fmt::join(entry.shape, ", "), fmt::join(wanted, ", "));
  check(entry.dtype == DType::F32 || entry.dtype == DType::F16 || entry.dtype == DType::BF16,
        "{}: {} has type {}; weights are F32, F16 or BF16", path.string(), spec.name, name_of(entry.dtype));
}

/// The files of a folder, which hold exactly the tensors of the configuration. So a configuration that lies is found out before memory is
/// taken for its model.
std::vector<SafetensorsFile> open_weights(const LlamaConfig& config, const fs::path& folder) {
  std::map<std::string, ParameterSpec> missing;
  std::set<std::string> found;
  for (ParameterSpec& spec : llama_parameters(config)) missing.emplace(spec.name, std::move(spec));
  std::vector<SafetensorsFile> files;
  for (const fs::path& path : weight_files(folder)) {
    const SafetensorsFile& file = files.emplace_back(path);
    for (const std::string& name : file.names()) {
      const auto spec = missing.find(name);
      if (spec == missing.end() && is_redundant(config, name)) continue;
      check(!found.contains(name), "{}: {} is there twice; remove one of the files", path.string(), name);
      check(spec != missing.end(),
            "{}: {} is not a tensor of the model that config.json describes; the files are of two models",
            path.string(), name);
      check_tensor(spec->second, file.at(name), path);
      found.insert(name);
      missing.erase(spec);
    }
  }
  check(missing.empty(), "{}: {} is missing{}; the files are of two models or not complete", folder.string(),
        missing.empty() ? "" : missing.begin()->first,
        missing.size() > 1 ? fmt::format(" (and {} more tensors)", missing.size() - 1) : "");
  return files;
}

void upload_weights(device::Stream& stream, Llama& model, const std::vector<SafetensorsFile>& files) {
  for (const SafetensorsFile& file : files) {
    for (const std::string& name : file.names()) {
      const Parameter* parameter = model.parameters().find(name);
      if (parameter == nullptr) continue;  // redundant
      const TensorEntry& entry = file.at(name);
      std::vector<float> values = as_floats(entry);
      if (parameter->spec.layout == FileLayout::Transposed) values = transposed(values, entry.shape[0], entry.shape[1]);
      stream.upload(parameter->values.buffer(), std::as_bytes(std::span(values)));
      parameter->values.values_changed();
    }
  }
  model.parameters().refresh_mirror(stream);
}

}  // namespace

ReadBuffer read_from(device::Stream& stream) {
  return [&stream, bytes = std::vector<std::byte>()](const device::Buffer& buffer) mutable {
    bytes.resize(static_cast<size_t>(buffer.size_bytes()));
    stream.download(buffer, bytes);
    return std::span<const std::byte>(bytes);
  };
}

void save_model(const ReadBuffer& read, const Llama& model, const fs::path& folder) {
  std::vector<float> turned;  // the tensor being written
  std::vector<TensorToWrite> tensors;
  for (const Parameter& parameter : model.parameters().all()) {
    TensorToWrite entry;
    entry.name = parameter.spec.name;
    entry.shape = file_shape(parameter.spec);
    entry.produce = [&read, &turned, &parameter]() -> std::span<const std::byte> {
      const std::span<const std::byte> bytes = read(parameter.values.buffer());
      if (parameter.spec.layout != FileLayout::Transposed) return bytes;
      const std::span<const float> values(reinterpret_cast<const float*>(bytes.data()), bytes.size() / 4);
      turned = transposed(values, parameter.spec.shape[0], parameter.spec.shape[1]);
      return std::as_bytes(std::span(turned));
    };
    tensors.push_back(std::move(entry));
  }
  write_safetensors(folder / "model.safetensors", tensors, {{"format", "pt"}});
  write_file(folder / "config.json", model.config().to_json());
}

void save_model(device::Stream& stream, const Llama& model, const fs::path& folder) {
  save_model(read_from(stream), model, folder);
}

void load_weights(device::Stream& stream, Llama& model, const fs::path& folder) {
  upload_weights(stream, model, open_weights(model.config(), folder));
}

ReadWeight weights_in(const LlamaConfig& config, const fs::path& folder) {
  const auto files = std::make_shared<const std::vector<SafetensorsFile>>(open_weights(config, folder));
  return [files, folder](const ParameterSpec& spec) {
    for (const SafetensorsFile& file : *files) {
      if (const TensorEntry* entry = file.find(spec.name)) return as_floats(*entry);
    }
    fail("{}: {} is missing", folder.string(), spec.name);
  };
}

ReadWeight weights_of(device::Stream& stream, const Llama& model) {
  return [&stream, &model](const ParameterSpec& spec) {
    const std::vector<float> values = tensor::to_values(stream, model.parameters().at(spec.name));
    if (spec.layout != FileLayout::Transposed) return values;
    return transposed(values, spec.shape[0], spec.shape[1]);
  };
}

ReadWeight initial_weights(const LlamaConfig& config, uint64_t seed) {
  std::map<std::string, size_t> numbers;
  for (const ParameterSpec& spec : llama_parameters(config)) numbers.emplace(spec.name, numbers.size());
  return [numbers, seed](const ParameterSpec& spec) {
    const std::vector<float> values = initial_values(spec, seed, numbers.at(spec.name));
    if (spec.layout != FileLayout::Transposed) return values;
    return transposed(values, spec.shape[0], spec.shape[1]);
  };
}

LlamaConfig config_in(const fs::path& folder) {
  const fs::path path = folder / "config.json";
  check(fs::exists(path), "{}: holds no config.json; pass a model folder, a run or a checkpoint", folder.string());
  return load_llama_config(path);
}

Llama load_model(device::Stream& stream, const fs::path& folder, Trained trained) {
  const LlamaConfig config = config_in(folder);
  const std::vector<SafetensorsFile> files = open_weights(config, folder);
  Llama model(stream, config, trained);
  upload_weights(stream, model, files);
  return model;
}

}  // namespace athanor::nn
