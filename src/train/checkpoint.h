// A checkpoint: a model folder that any Hugging Face reader opens, plus the moments (optimizer.safetensors) and trainer_state.json, which
// holds a hash of every file. It is written aside and exchanged whole; `latest` moves after it.
#pragma once

#include "data/tokenizer.h"
#include "nn/llama.h"
#include "train/adamw.h"
#include "train/run_folder.h"

#include <optional>
#include <string>

namespace athanor::train {

struct TrainerState {
  int64_t step = 0;            // completed optimizer steps
  int64_t applied_steps = 0;   // those that changed the weights: Adam's t
  int64_t trained_tokens = 0;  // targets seen
  uint64_t seed = 0;
  double train_loss = 0;           // of the last step
  std::optional<double> val_loss;  // at this step, when it was evaluated
  std::string settings;            // config.yaml of the run
  std::string data_hash;   // of the token file: the data position is the step together with these tokens and the seed
  std::string data_order;  // data::Loader::order_name: which rows come when
  std::string device;      // what computed it: name and threads, since bits may differ on another
};

/// Writes run/checkpoint-<step>, then `latest`. Waits for the device. Throws Error; then the older checkpoints are whole.
void save_checkpoint(device::Stream& stream, const RunFolder& run, const nn::Llama& model, const Adamw& optimizer,
                     const data::Tokenizer& tokenizer, const TrainerState& state);

/// trainer_state.json after its files' hashes were compared. Throws Error naming the file that is missing, truncated or altered.
TrainerState read_trainer_state(const std::filesystem::path& checkpoint);

/// Fills weights and moments. Throws Error when the files are of another model or hold no optimizer state.
void load_checkpoint(device::Stream& stream, const std::filesystem::path& checkpoint, nn::Llama& model,
                     Adamw& optimizer);

/// Removes all but the newest `limit` checkpoints and the one best by val_loss. limit 0 keeps all.
void remove_old_checkpoints(const RunFolder& run, int64_t limit);

}  // namespace athanor::train
