// The folder of a run: config.yaml, tokenizer.json, tokens.safetensors, metrics.jsonl, samples.jsonl, checkpoint-<step>/ and `latest`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace athanor::train {

struct CheckpointEntry {
  int64_t step = 0;
  std::filesystem::path path;
};

class RunFolder {
 public:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / "config.yaml"; }
  std::filesystem::path tokenizer() const { return path_ / "tokenizer.json"; }
  std::filesystem::path tokens() const { return path_ / "tokens.safetensors"; }
  std::filesystem::path validation_tokens() const { return path_ / "validation_tokens.safetensors"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path samples() const { return path_ / "samples.jsonl"; }
  std::filesystem::path checkpoint(int64_t step) const;
  /// A shader of the user that the run uses: kernels/NAME.wgsl, with "." for the "/" of a pass.
  std::filesystem::path kernel(std::string name) const;

  /// The table of choices that the run uses to its end, where its device is a GPU.
  std::filesystem::path choices() const { return path_ / "choices.json"; }

  /// True when a run was begun here.
  bool holds_run() const;
  /// Makes the folder; throws Error when that fails.
  void create() const;
  /// All checkpoints, lowest step first.
  std::vector<CheckpointEntry> checkpoints() const;
  /// The one that `latest` names; where it is missing or names none that is there, the newest, with a warning; nothing when there is
  /// none.
  std::optional<CheckpointEntry> latest() const;
  void set_latest(int64_t step) const;

 private:
  std::filesystem::path path_;
};

/// Appends JSON lines to a file; every line is handed to the system at once, so that a killed run keeps what it logged.
class JsonLines {
 public:
  /// Keeps the lines whose "step" is below or at `last_step` and drops the rest (a resumed run writes them again).
  JsonLines(const std::filesystem::path& path, int64_t last_step);
  JsonLines(const JsonLines&) = delete;
  JsonLines& operator=(const JsonLines&) = delete;
  ~JsonLines();

  /// One JSON object without its newline. Throws Error when the disk refuses.
  void append(const std::string& line);

 private:
  std::filesystem::path path_;
  std::FILE* file_ = nullptr;
};

}  // namespace athanor::train
