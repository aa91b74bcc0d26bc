// A file mapped read-only into memory, closed on destruction.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace athanor {

class MappedFile {
 public:
  /// Throws Error when the path is missing, a folder, or cannot be read. An empty file gives an empty span.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&&) noexcept;
  MappedFile& operator=(MappedFile&&) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const;
  const std::filesystem::path& path() const;

 private:
  struct Mapping;
  std::unique_ptr<Mapping> mapping_;
};

/// Gives the memory of whole pages within these bytes of a MappedFile back to the system, which reads them again when they are touched: so
/// that a pass over a large file holds a small part of it.
void release_pages(std::span<const std::byte> mapped);

}  // namespace athanor
