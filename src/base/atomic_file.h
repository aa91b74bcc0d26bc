// Files and folders that appear whole or not at all: written aside, flushed, then renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace athanor {

/// A file written beside its final path and renamed onto it by commit(). Destroyed without commit, it leaves no trace.
class AtomicFile {
 public:
  /// Throws Error when the folder is missing or cannot be written.
  explicit AtomicFile(const std::filesystem::path& path);
  AtomicFile(AtomicFile&&) noexcept;
  AtomicFile& operator=(AtomicFile&&) noexcept;
  ~AtomicFile();

  /// Throws Error with the system's reason (disk full, ...).
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Writes over bytes that were written already: for a header that is known last. Throws Error as write does.
  void overwrite(uint64_t offset, std::span<const std::byte> bytes);
  /// Reads back what was written. Throws Error when that is less.
  void read_back(uint64_t offset, std::span<std::byte> bytes) const;
  /// Flushes to the disk and renames. Throws Error; then the old file, if any, is still whole.
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes a whole small file in one go.
void write_file(const std::filesystem::path& path, std::string_view text);

/// Removes what processes that were killed have left in a folder under names of unfinished files and folders; a live process's is left
/// alone. Gives the names, for the log.
std::vector<std::string> remove_unfinished(const std::filesystem::path& folder);

/// A folder written beside its final path: fill path(), then commit() flushes every file and the folder and renames it
/// onto the final path. A folder already there is swapped out and then removed. Destroyed without commit, it leaves no
/// trace.
class AtomicFolder {
 public:
  explicit AtomicFolder(const std::filesystem::path& final_path);
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;
  ~AtomicFolder();

  const std::filesystem::path& path() const { return staging_; }
  void commit();

 private:
  std::filesystem::path final_;
  std::filesystem::path staging_;
  bool committed_ = false;
};

}  // namespace athanor
