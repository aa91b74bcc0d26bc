// What a run folder tells of its run: settings, losses over the steps, speed. For `athanor show`.
#pragma once

#include "train/run_folder.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace athanor::train {

struct LossPoint {
  int64_t step = 0;
  double loss = 0;
};

struct RunSummary {
  std::string path;
  std::vector<std::pair<std::string, std::string>> settings;  // key and value, as config.yaml has them
  std::vector<LossPoint> train;
  std::vector<LossPoint> validation;
  std::optional<double> bits_per_byte;  // of the last evaluation
  double tokens_per_second = 0;         // mean of the logged steps
  int64_t trained_tokens = 0;
  int64_t num_weights = 0;  // 0: not known
  std::vector<int64_t> checkpoints;
  int64_t unread_lines = 0;  // of metrics.jsonl that are no JSON objects with a step

  int64_t last_step() const { return train.empty() ? 0 : train.back().step; }
  /// The lowest validation loss.
  std::optional<LossPoint> best() const;
  /// Time of the trained tokens at the mean speed; 0 when unknown.
  double seconds() const { return tokens_per_second > 0 ? static_cast<double>(trained_tokens) / tokens_per_second : 0; }
};

/// Throws Error when the folder holds no run or its config.yaml cannot be read. Lines of metrics.jsonl that are damaged are counted and left
/// out.
RunSummary read_run(const std::filesystem::path& path);

/// Keys whose values are not the same in all runs, output_dir left out.
std::vector<std::string> differing_settings(const std::vector<RunSummary>& runs);

}  // namespace athanor::train
