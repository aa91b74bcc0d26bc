// A checkpoint: a model folder that any Hugging Face reader opens, plus the optimizer's state (optimizer.safetensors) and trainer_state.json, which
// holds a hash of every file. It is written aside and exchanged whole; `latest` moves after it.
#pragma once

#include "data/tokenizer.h"
#include "nn/model_files.h"
#include "train/guard.h"
#include "train/optimizer.h"
#include "train/run_folder.h"
#include "train/weight_average.h"

#include <optional>
#include <string>

namespace athanor::train {

struct TrainerState {
  int64_t step = 0;            // completed optimizer steps
  int64_t applied_steps = 0;   // those that changed the weights: Adam's t
  int64_t trained_tokens = 0;  // targets seen
  uint64_t seed = 0;
  double train_loss = 0;                // of the last step; may be NaN
  std::optional<double> val_loss;       // at this step, when it was evaluated
  std::optional<double> best_val_loss;  // of all evaluations
  int64_t stale_evaluations = 0;        // since the best one
  int64_t schedule_steps = 0;           // that the learning rate's schedule spans; 0: not known (an older version)
  double ema_decay = 0;                 // of the average that the model's file holds; 0: it holds the trained weights
  GuardState guard;
  std::string settings;    // config.yaml of the run
  std::string data_hash;   // of the token file: the data position is the step together with these tokens and the seed
  std::string data_order;  // data::Loader::order_name: which rows come when
  std::string device;      // what computed it: name and threads, since bits may differ on another
  std::optional<std::string> choices;  // digest_of its table (choice_files.h); none on the CPU, and of an older version
};

/// What of a checkpoint lies on the device; it must outlive whoever holds this. average: nullptr for none; else the model must show it
/// (ShownAverage) while it is read: the model's file holds the average, the optimizer's the weights that training goes on from.
struct CheckpointParts {
  const nn::Llama& model;
  const Optimizer& optimizer;
  const WeightAverage* average = nullptr;

  /// Every buffer that the files are made from.
  std::vector<device::Buffer> buffers() const;
};

/// Writes run/checkpoint-<step>, then `latest`. Calls nothing of the device but `read`. Throws Error; then the older checkpoints are whole.
void save_checkpoint(const nn::ReadBuffer& read, const RunFolder& run, const CheckpointParts& parts,
                     const data::Tokenizer& tokenizer, const TrainerState& state);
/// The same, downloading one tensor after the other.
void save_checkpoint(device::Stream& stream, const RunFolder& run, const CheckpointParts& parts,
                     const data::Tokenizer& tokenizer, const TrainerState& state);

/// trainer_state.json after its files' hashes were compared. Throws Error naming the file that is missing, truncated or altered.
TrainerState read_trainer_state(const std::filesystem::path& checkpoint);

/// What is wrong with a checkpoint's files, naming the first that is missing, truncated or altered; empty when all hashes are right.
std::string fault_of_checkpoint(const std::filesystem::path& checkpoint);

struct WholeCheckpoint {
  CheckpointEntry entry;
  TrainerState state;
};

/// The checkpoint to go on from: the one that `latest` names if it is whole, else the newest that is, named in a warning with what is
/// wrong with those passed over. Only of steps below `below`. Nothing when the run has no checkpoint there. Throws Error when there are
/// some and none is whole.
std::optional<WholeCheckpoint> find_whole_checkpoint(const RunFolder& run, int64_t below = INT64_MAX);

/// Fills weights, the optimizer's state and the average (nullptr: there is none; the trained weights are taken). Throws Error when the files
/// are of another model or optimizer or hold no optimizer state.
void load_checkpoint(device::Stream& stream, const std::filesystem::path& checkpoint, nn::Llama& model,
                     Optimizer& optimizer, WeightAverage* average);

/// Removes all but the newest `limit` checkpoints, the one best by val_loss and that of step `kept`. limit 0 keeps all.
void remove_old_checkpoints(const RunFolder& run, int64_t limit, int64_t kept = -1);

/// Removes the checkpoints above a step and lets `latest` name that one; step 0: none is left.
void remove_newer_checkpoints(const RunFolder& run, int64_t step);

}  // namespace athanor::train
