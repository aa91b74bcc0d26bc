// Safetensors files: a reader that trusts nothing in the file, and a writer. Format: 8 bytes of header length (little
// endian), a JSON header, the tensors' bytes without gaps. Token files, models and optimizer states are all stored so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/atomic_file.h"
#include "base/dtype.h"
#include "base/mapped_file.h"

namespace athanor {

/// One tensor in an open file. The bytes lie in the file's mapping: row-major, little endian. write_safetensors aligns
/// each tensor to its element; a file of another program may not, so check is_aligned() before reading in place, else
/// copy.
struct TensorEntry {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;

  /// Product of the extents; 1 for a scalar. bytes.size() is this times size_of(dtype), which the reader checked.
  int64_t num_elements() const;
  /// True when the bytes may be read in place as elements.
  bool is_aligned() const;
};

/// A safetensors file mapped read-only. Moving it leaves the entries and spans valid; they end with the object.
class SafetensorsFile {
 public:
  /// Throws Error with the path and the reason when the file is missing or anything in it is not as the format says:
  /// header length, JSON (depth, doubled keys, UTF-8), unknown types, shapes that overflow, offsets out of range,
  /// overlaps, holes.
  explicit SafetensorsFile(const std::filesystem::path& path);

  /// Names of the tensors, sorted by their bytes.
  const std::vector<std::string>& names() const { return names_; }
  /// nullptr when there is no tensor of this name.
  const TensorEntry* find(std::string_view name) const;
  /// Throws Error with the path when there is no tensor of this name.
  const TensorEntry& at(std::string_view name) const;
  /// What the header's "__metadata__" holds; empty when it has none.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  MappedFile file_;
  std::map<std::string, TensorEntry, std::less<>> tensors_;
  std::vector<std::string> names_;
  std::map<std::string, std::string> metadata_;
};

/// One tensor to write. Either `bytes` holds it, or `produce` is called when its turn comes and gives the bytes, valid
/// until the next call: so a model that lies on a device is written with one tensor in host memory at a time.
struct TensorToWrite {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes{};
  std::function<std::span<const std::byte>()> produce{};
};

/// Writes a whole safetensors file: the header sorted by name, the data by falling element size and then by name, as
/// the safetensors package does, so that every tensor is aligned. Throws Error for a doubled or non-UTF-8 name, a shape
/// that does not give the number of bytes, or a failed write. Does not commit the file.
void write_safetensors(AtomicFile& file, std::span<const TensorToWrite> tensors,
                       const std::map<std::string, std::string>& metadata = {});

/// The same onto a path, whole or not at all.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
                       const std::map<std::string, std::string>& metadata = {});

/// Writes a safetensors file of lists (rank 1) whose lengths are known only when they end: the room of the header is kept at the front
/// and filled at last. The lists lie in the order given, so that only the first is sure to be aligned.
class SafetensorsLists {
 public:
  struct List {
    std::string name;
    DType dtype = DType::F32;
  };

  /// reserved: metadata at least as long, as JSON, as what commit will be given.
  SafetensorsLists(const std::filesystem::path& path, std::vector<List> lists,
                   const std::map<std::string, std::string>& reserved);

  /// Appends whole elements to the current list, at first the first one.
  void append(std::span<const std::byte> bytes);
  /// Ends the current list.
  void next_list();
  /// Ends the last list, writes the header, and puts the file in place.
  void commit(const std::map<std::string, std::string>& metadata);

 private:
  AtomicFile file_;
  std::vector<List> lists_;
  std::vector<int64_t> sizes_bytes_;  // of the lists begun so far
  uint64_t header_bytes_ = 0;
};

}  // namespace athanor
