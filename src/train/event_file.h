// Scalars as TensorBoard reads them: records with masked CRC-32C around protobuf messages (tensorflow/core/util/event.proto), both small
// enough to be written here.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace athanor::train {

class EventFile {
 public:
  /// Begins a file of its own in the folder: "events.out.tfevents.<seconds>.athanor.<number>". It says that the run goes on behind
  /// `last_step`, so that TensorBoard forgets later steps of older files: what a killed run had written beyond its checkpoint.
  EventFile(const std::filesystem::path& folder, int64_t last_step);
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;
  ~EventFile();

  struct Scalar {
    std::string tag;
    double value = 0;
  };
  /// One event, handed to the system at once. Throws Error when the disk refuses.
  void add(int64_t step, std::span<const Scalar> scalars);

  const std::filesystem::path& path() const { return path_; }

 private:
  void write_record(const std::string& message);

  std::filesystem::path path_;
  std::FILE* file_ = nullptr;
};

/// CRC-32C (Castagnoli) of the bytes.
uint32_t crc32c(std::string_view bytes);

}  // namespace athanor::train
