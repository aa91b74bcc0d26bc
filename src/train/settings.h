// Settings of a training run, with Hugging Face's key names. One table of keys serves the YAML file, the flags, the environment and the
// resolved config.yaml, so that the four cannot differ.
#pragma once

#include "base/error.h"
#include "kernels/matmul/matmul_precision.h"
#include "nn/llama_config.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::train {

struct TrainSettings {
  std::string preset;  // values that stand below all that is said (presets.h); empty: none
  int64_t depth = 0;   // blocks, from which width, heads, rate and batch follow (presets.h); 0: not asked for

  // What is trained on.
  std::vector<std::string> data;  // text files and folders, or one token file
  std::vector<double>
      data_weights;                 // of them, or of the token file's sources: their shares of the rows; empty: by size
  std::string text_field = "text";  // of a line of a .jsonl file
  std::string packing = "documents";  // documents, naive (data/loader.h)
  std::string encoding;               // of text that is not UTF-8 (iconv's name); empty: UTF-8, or by byte-order mark
  std::string tokenizer;              // tokenizer.json; empty: one is trained
  int64_t vocab_size = 0;             // of a tokenizer that is trained; 0: by the size of the text
  std::string split = "tekken";
  double validation_split = 0.01;
  std::string validation_data;  // a file or folder of its own instead of a share of the data

  nn::LlamaConfig model_config;  // hidden_size 0: sized to text, device and time

  std::string output_dir;
  double minutes = 0;                       // 0: by max_steps
  int64_t max_steps = 0;                    // 0: from minutes
  int64_t batch_tokens = 0;                 // of a step; 0: as the next two say, which else are picked where they are 0
  int64_t per_device_train_batch_size = 8;  // rows a micro-batch
  int64_t max_length = 0;                   // tokens a row; 0: the model's context
  int64_t gradient_accumulation_steps = 1;
  bool gradient_checkpointing = false;  // recompute blocks in the backward pass

  double learning_rate = 1e-3;
  std::string optim = "adamw_torch";         // adamw_torch, adamw_8bit, sgd, muon
  std::string lr_scheduler_type = "cosine";  // cosine, linear, constant, warmup_stable_decay
  int64_t lr_scheduler_steps = 0;            // steps that the schedule spans; 0: max_steps
  double decay_ratio = 0.1;                  // of warmup_stable_decay: share of the schedule that decays
  double min_lr_ratio = 0.1;
  int64_t warmup_steps = 50;
  double weight_decay = 0.1;
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.999;
  double adam_epsilon = 1e-8;
  double max_grad_norm = 1.0;  // 0: no clipping
  double sgd_momentum = 0.9;
  double muon_learning_rate =
      0.02;  // of hidden matrices; it follows the schedule of learning_rate, which is of the rest
  double muon_momentum = 0.95;
  std::string precision = "f32";  // mixed: products read an f16 mirror of the weights
  double ema_decay = 0;           // of the average of the weights; 0: none
  double label_smoothing_factor = 0;
  double z_loss = 0;

  double guard_outlier = 10;              // times the median norm; 0: only what is not finite is refused
  int64_t guard_patience = 3;             // bad steps in a row until guard_action; 0: never
  std::string guard_action = "rollback";  // or stop
  int64_t guard_rollbacks = 3;            // at most so many, then the run stops
  int64_t patience = 0;                   // evaluations without a lower val_loss until the run stops; 0: never

  int64_t logging_steps = 1;
  int64_t log_layer_norms_steps =
      0;  // norms of each tensor's gradient, weights and update every so many steps; 0: never
  int64_t eval_steps = 200;
  int64_t eval_batches = 0;  // micro-batches of one evaluation; 0: the whole validation data
  int64_t save_steps = 200;
  int64_t save_total_limit = 3;             // checkpoints kept; the newest and the best always are; 0: all
  bool save_in_background = true;           // from a copy of the state in host memory, where there is room for it
  int64_t sample_steps = 0;                 // a sample every so many steps; 0: with each evaluation
  int64_t sample_tokens = 60;               // 0: no samples
  std::string sample_prompt;                // empty: the start of the validation text
  std::vector<std::string> sample_prompts;  // several, instead
  uint64_t seed = 1;
  std::string float32_matmul_precision = "highest";  // highest, high, medium: PyTorch's names

  std::string profile;             // a Chrome trace of a few steps goes here; empty: none
  int64_t profile_first_step = 4;  // once kernels are compiled and buffers made
  int64_t profile_steps = 3;

  std::string device = "auto";
  int64_t threads = 0;              // CPU workers; 0: all
  std::vector<std::string> kernel;  // NAME=FILE.wgsl: shaders of the user (train/kernel_files.h)
  std::string choices;              // a table of choices of `athanor tune`, none, or empty: the one kept for the device

  /// Throws Error, naming the key, for values that make no run.
  void validate() const;
  kernels::MatMulPrecision matmul_precision() const;

 private:
  void check_optimization() const;
};

/// One key: its name as in the YAML file ("model_config.hidden_size"), and how text becomes its value and back.
struct SettingKey {
  std::string name;
  std::string help;
  bool is_list = false;
  std::function<void(TrainSettings&, const std::vector<std::string>& values)> set;  // one value unless is_list
  std::function<std::vector<std::string>(const TrainSettings&)> get;

  /// "--model-config.hidden-size"
  std::string flag() const;
  /// "ATHANOR_MODEL_CONFIG_HIDDEN_SIZE"
  std::string environment_name() const;
};

const std::vector<SettingKey>& setting_keys();

/// Text that is no value of its key at all, such as letters for a number; a number outside the range is a plain Error.
class UnreadableValue : public Error {
 public:
  using Error::Error;
};

/// Throws Error naming the key and `source` when the key is unknown (with the nearest known one) or the text is no such value.
void apply_setting(TrainSettings& settings, std::string_view key, const std::vector<std::string>& values,
                   std::string_view source);

/// A YAML file over `settings`, with the preset or depth that it names below it. Paths in it are taken as they are, relative to the
/// working folder, but for those of `choices` and `kernel`, which are relative to the file.
void apply_settings_file(TrainSettings& settings, const std::filesystem::path& path);

/// All keys as a YAML file that repeats the run.
std::string to_yaml(const TrainSettings& settings);

}  // namespace athanor::train
