// A model as a Hugging Face folder: config.json and model.safetensors (or shards named by model.safetensors.index.json).
#pragma once

#include "nn/llama.h"

#include <filesystem>
#include <functional>
#include <span>

namespace athanor::nn {

/// Gives the bytes of a buffer as they lie on the device, valid until the next call: downloaded, or from a copy made before.
using ReadBuffer = std::function<std::span<const std::byte>(const device::Buffer&)>;

/// Downloads each buffer when it is asked for.
ReadBuffer read_from(device::Stream& stream);

/// Writes config.json and model.safetensors (F32) into a folder that exists, each file whole or not at all.
/// Projections are transposed to [out, in]; a tied head is written once, under the embedding's name. Calls nothing of the device but `read`.
void save_model(const ReadBuffer& read, const Llama& model, const std::filesystem::path& folder);
void save_model(device::Stream& stream, const Llama& model, const std::filesystem::path& folder);

/// Fills the model's weights from the folder's safetensors (F32, F16 or BF16). Throws Error naming file and tensor when one is missing, of
/// another shape, or unknown to the model: then it is another model.
void load_weights(device::Stream& stream, Llama& model, const std::filesystem::path& folder);

/// Gives the values of a tensor of llama_parameters as a file lays them out: projections [out, in].
using ReadWeight = std::function<std::vector<float>(const ParameterSpec& spec)>;

/// From the folder's safetensors, as load_weights reads them; what is wrong with the files is thrown at once.
ReadWeight weights_in(const LlamaConfig& config, const std::filesystem::path& folder);
/// From a model on the device, which must outlive it.
ReadWeight weights_of(device::Stream& stream, const Llama& model);
/// What Parameters::initialize gives a model of this configuration.
ReadWeight initial_weights(const LlamaConfig& config, uint64_t seed);

/// The folder's config.json. Throws Error when there is none.
LlamaConfig config_in(const std::filesystem::path& folder);

/// Opens config.json and the weights.
Llama load_model(device::Stream& stream, const std::filesystem::path& folder, Trained trained);

}  // namespace athanor::nn
