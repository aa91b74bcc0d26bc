// Finds the model that -m names: a model folder, a checkpoint, or a run of which one checkpoint is chosen. Every file is hostile
// until checked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"
#include "generate/decoder_weights.h"
#include "nn/llama.h"

namespace athanor::generate {

struct ModelSource {
  std::filesystem::path folder;    // holds config.json, the weights and tokenizer.json
  std::optional<int64_t> step;     // of a checkpoint chosen from a run
  std::optional<double> val_loss;  // of that checkpoint, when it was evaluated
  std::string reason;  // why it was chosen: "best by val_loss of 3 checkpoints"; empty unless chosen from a run
};

/// path: a model folder (config.json), a checkpoint (likewise) or a run folder (checkpoint-<step>/, `latest`). checkpoint: which one of
/// a run: "best" (lowest val_loss, of equal ones the later; the latest when none was evaluated), "latest", or a step; empty: best.
/// Throws Error, saying what to do, when there is nothing of the kind, `latest` names no checkpoint of this run, or a checkpoint is
/// asked for of what is no run.
ModelSource find_model(const std::filesystem::path& path, std::string_view checkpoint = {});

/// What a model folder holds beside the weights.
struct TextParts {
  data::Tokenizer tokenizer;
  std::vector<uint32_t> end_tokens;  // any of them ends a text
  std::vector<uint32_t>
      leading_tokens;  // what the tokenizer's files put before every text: none, or a begin-of-text token
};

struct LoadedModel : TextParts {
  nn::Llama model;
};

/// Reads the folder. Where trainer_state.json keeps hashes, the files that are read must match them. Throws Error naming the file.
LoadedModel load_model(device::Stream& stream, const ModelSource& source);

struct LoadedDecoder : TextParts {
  DecoderWeights weights;
};

/// The same for generation alone, with the weights in this format from the start.
LoadedDecoder load_decoder(device::Stream& stream, const ModelSource& source, WeightFormat format);

}  // namespace athanor::generate
