// Safetensors: the header against the file, and the layout of what is written.
#include "base/safetensors.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/safetensors_header.h"
#include "base/shape.h"

namespace athanor {
namespace {

using safetensors::Header;
using safetensors::HeaderTensor;

constexpr uint64_t kLengthBytes = 8;
// The limit of the safetensors package; a larger header is refused there.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;

uint64_t read_little_endian(std::span<const std::byte> bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) value |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
  return value;
}

/// Bytes of a tensor; nothing when its extents or bytes leave the range of int64_t.
std::optional<int64_t> size_bytes_of(DType dtype, std::span<const int64_t> shape) {
  const std::optional<int64_t> elements = product_of(shape);
  if (!elements || *elements > INT64_MAX / size_of(dtype)) return std::nullopt;
  return *elements * size_of(dtype);
}

/// Every byte of the data belongs to exactly one tensor.
void check_layout(std::span<const HeaderTensor> tensors, uint64_t data_bytes) {
  std::vector<const HeaderTensor*> by_offset;
  for (const HeaderTensor& tensor : tensors) {
    check(tensor.begin <= tensor.end, "tensor \"{}\" ends at {} before it begins at {}", tensor.name, tensor.end,
          tensor.begin);
    check(tensor.end <= data_bytes,
          "tensor \"{}\" ends at byte {} of the data but the file holds {}; it may be cut off: fetch or write it again",
          tensor.name, tensor.end, data_bytes);
    by_offset.push_back(&tensor);
  }
  std::ranges::sort(by_offset, {}, [](const HeaderTensor* tensor) { return std::pair(tensor->begin, tensor->end); });
  uint64_t reached = 0;
  for (const HeaderTensor* tensor : by_offset) {
    check(tensor->begin >= reached, "tensor \"{}\" begins at {} inside the one before it, which ends at {}",
          tensor->name, tensor->begin, reached);
    check(tensor->begin == reached, "bytes {} to {} of the data, before tensor \"{}\", belong to no tensor", reached,
          tensor->begin, tensor->name);
    reached = tensor->end;
  }
  check(reached == data_bytes, "{} bytes after the last tensor belong to no tensor", data_bytes - reached);
}

TensorEntry entry_of(const HeaderTensor& tensor, std::span<const std::byte> data) {
  TensorEntry entry;
  try {
    entry.dtype = dtype_from_name(tensor.dtype);
  } catch (const Error&) {
    fail("tensor \"{}\" has elements of type \"{}\", which athanor does not read; convert it to F32", tensor.name,
         tensor.dtype);
  }
  const std::optional<int64_t> size_bytes = size_bytes_of(entry.dtype, tensor.shape);
  check(size_bytes.has_value(), "tensor \"{}\" has a shape of too many elements", tensor.name);
  check(static_cast<uint64_t>(*size_bytes) == tensor.end - tensor.begin,
        "tensor \"{}\": its shape and type need {} bytes but it has {}", tensor.name, *size_bytes,
        tensor.end - tensor.begin);
  entry.shape = tensor.shape;
  entry.bytes = data.subspan(tensor.begin, tensor.end - tensor.begin);
  return entry;
}

struct Parts {
  Header header;
  std::span<const std::byte> data;
};

Parts split_file(std::span<const std::byte> file) {
  check(file.size() >= kLengthBytes,
        "it has {} bytes, fewer than the 8 of the header's length; it is no safetensors file", file.size());
  const uint64_t header_bytes = read_little_endian(file);
  check(header_bytes <= kMaxHeaderBytes,
        "its header would have {} bytes and at most {} are allowed; it is no safetensors file", header_bytes,
        kMaxHeaderBytes);
  check(header_bytes <= file.size() - kLengthBytes,
        "its header would have {} bytes but only {} follow; it may be cut off: fetch or write it again", header_bytes,
        file.size() - kLengthBytes);
  const char* text = reinterpret_cast<const char*>(file.data()) + kLengthBytes;
  return {safetensors::parse_header({text, static_cast<size_t>(header_bytes)}),
          file.subspan(kLengthBytes + header_bytes)};
}

}  // namespace

int64_t TensorEntry::num_elements() const { return static_cast<int64_t>(bytes.size()) / size_of(dtype); }

bool TensorEntry::is_aligned() const {
  return reinterpret_cast<uintptr_t>(bytes.data()) % static_cast<uintptr_t>(size_of(dtype)) == 0;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : file_(path) {
  try {
    Parts parts = split_file(file_.bytes());
    check_layout(parts.header.tensors, parts.data.size());
    for (const HeaderTensor& tensor : parts.header.tensors) tensors_.emplace(tensor.name, entry_of(tensor, parts.data));
    metadata_ = std::move(parts.header.metadata);
  } catch (const Error& error) {
    const std::string what = error.what();
    const bool advises = what.find("; ") != std::string::npos;
    fail("{}: {}{}", path.string(), what, advises ? "" : "; the file is damaged: fetch or write it again");
  }
  for (const auto& [name, entry] : tensors_) names_.push_back(name);
}

const TensorEntry* SafetensorsFile::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

const TensorEntry& SafetensorsFile::at(std::string_view name) const {
  const TensorEntry* entry = find(name);
  check(entry != nullptr, "{}: has no tensor \"{}\"; it may belong to another kind of model", path().string(), name);
  return *entry;
}

namespace {

/// The order of the data: large elements first, so that with a header of whole 8 bytes each tensor is aligned.
std::vector<const TensorToWrite*> data_order(std::span<const TensorToWrite> tensors) {
  std::vector<const TensorToWrite*> order;
  for (const TensorToWrite& tensor : tensors) order.push_back(&tensor);
  std::ranges::sort(order, {}, [](const TensorToWrite* tensor) {
    return std::pair(-size_of(tensor->dtype), std::string_view(tensor->name));
  });
  return order;
}

Header header_for(std::span<const TensorToWrite* const> order, const std::map<std::string, std::string>& metadata) {
  Header header{{}, metadata};
  std::set<std::string_view> names;
  uint64_t offset = 0;
  for (const TensorToWrite* tensor : order) {
    check(tensor->name != "__metadata__", "a tensor cannot be named __metadata__");
    check(names.insert(tensor->name).second, "tensor \"{}\" is given twice", tensor->name);
    const std::optional<int64_t> size_bytes = size_bytes_of(tensor->dtype, tensor->shape);
    check(size_bytes.has_value(), "tensor \"{}\" has a negative extent or too many elements", tensor->name);
    const uint64_t end = offset + static_cast<uint64_t>(*size_bytes);
    header.tensors.push_back({tensor->name, std::string(name_of(tensor->dtype)), tensor->shape, offset, end});
    offset = end;
  }
  return header;
}

std::array<std::byte, kLengthBytes> as_little_endian(uint64_t length) {
  std::array<std::byte, kLengthBytes> bytes;
  for (size_t i = 0; i < kLengthBytes; ++i) bytes[i] = static_cast<std::byte>(length >> (8 * i));
  return bytes;
}

Header header_of(std::span<const SafetensorsLists::List> lists, std::span<const int64_t> sizes_bytes,
                 const std::map<std::string, std::string>& metadata) {
  Header header{{}, metadata};
  uint64_t offset = 0;
  for (size_t i = 0; i < lists.size(); ++i) {
    const uint64_t end = offset + static_cast<uint64_t>(sizes_bytes[i]);
    header.tensors.push_back(
        {lists[i].name, std::string(name_of(lists[i].dtype)), {sizes_bytes[i] / size_of(lists[i].dtype)}, offset, end});
    offset = end;
  }
  return header;
}

}  // namespace

void write_safetensors(AtomicFile& file, std::span<const TensorToWrite> tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::vector<const TensorToWrite*> order = data_order(tensors);
  const Header header = header_for(order, metadata);
  std::string text = safetensors::write_header(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  check(text.size() <= kMaxHeaderBytes,
        "safetensors: the header would have {} bytes and readers take {}; give less metadata", text.size(),
        kMaxHeaderBytes);
  file.write(as_little_endian(text.size()));
  file.write(text);
  for (size_t i = 0; i < order.size(); ++i) {
    const TensorToWrite& tensor = *order[i];
    const std::span<const std::byte> bytes = tensor.produce ? tensor.produce() : tensor.bytes;
    const uint64_t expected = header.tensors[i].end - header.tensors[i].begin;
    check(bytes.size() == expected, "safetensors: tensor \"{}\" has {} bytes but its shape and type need {}",
          tensor.name, bytes.size(), expected);
    file.write(bytes);
  }
}

void write_safetensors(const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
                       const std::map<std::string, std::string>& metadata) {
  AtomicFile file(path);
  write_safetensors(file, tensors, metadata);
  file.commit();
}

SafetensorsLists::SafetensorsLists(const std::filesystem::path& path, std::vector<List> lists,
                                   const std::map<std::string, std::string>& reserved)
    : file_(path), lists_(std::move(lists)), sizes_bytes_{0} {
  check(!lists_.empty(), "safetensors: a file of no lists; name at least one");
  constexpr int64_t kLargest = int64_t{1} << 60;
  const std::vector<int64_t> largest(lists_.size(), kLargest);
  const size_t needed = safetensors::write_header(header_of(lists_, largest, reserved)).size();
  header_bytes_ = (needed + 7) / 8 * 8;
  check(header_bytes_ <= kMaxHeaderBytes,
        "safetensors: the header would have {} bytes and readers take {}; give less metadata", header_bytes_,
        kMaxHeaderBytes);
  file_.write(as_little_endian(header_bytes_));
  file_.write(std::string(header_bytes_, ' '));
}

void SafetensorsLists::append(std::span<const std::byte> bytes) {
  file_.write(bytes);
  sizes_bytes_.back() += static_cast<int64_t>(bytes.size());
}

void SafetensorsLists::next_list() {
  check(sizes_bytes_.size() < lists_.size(), "safetensors: all {} lists are written; commit the file", lists_.size());
  sizes_bytes_.push_back(0);
}

void SafetensorsLists::commit(const std::map<std::string, std::string>& metadata) {
  while (sizes_bytes_.size() < lists_.size()) next_list();
  for (size_t i = 0; i < lists_.size(); ++i) {
    check(sizes_bytes_[i] % size_of(lists_[i].dtype) == 0, "safetensors: \"{}\" has {} bytes, which are no whole {}",
          lists_[i].name, sizes_bytes_[i], name_of(lists_[i].dtype));
  }
  std::string text = safetensors::write_header(header_of(lists_, sizes_bytes_, metadata));
  check(text.size() <= header_bytes_, "safetensors: the header has {} bytes but {} were kept for it", text.size(),
        header_bytes_);
  text.resize(header_bytes_, ' ');
  file_.overwrite(kLengthBytes, std::as_bytes(std::span(text)));
  file_.commit();
}

}  // namespace athanor
