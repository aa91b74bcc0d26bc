// The bytes of a file in order, a piece at a time: as they are, or unpacked where the file's first bytes say gzip or zstd. Memory does
// not grow with the file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace athanor::data {

class ByteReader {
 public:
  /// Throws Error when the path is missing, no regular file, or cannot be read.
  explicit ByteReader(const std::filesystem::path& path);
  ByteReader(ByteReader&&) noexcept;
  ByteReader& operator=(ByteReader&&) noexcept;
  ~ByteReader();

  /// Fills `out` as far as there are bytes; fewer only at the end. Throws Error with the path when packed bytes are damaged or end early.
  size_t read(std::span<char> out);
  bool is_packed() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace athanor::data
