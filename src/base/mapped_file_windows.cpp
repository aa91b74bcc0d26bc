// Memory maps on Windows.
#ifdef _WIN32
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/windows_api.h"

namespace athanor {

struct MappedFile::Mapping {
  std::filesystem::path path;
  const std::byte* data = nullptr;
  size_t size = 0;

  ~Mapping() {
    if (data != nullptr) UnmapViewOfFile(data);
  }
};

namespace {

struct OwnedHandle {
  HANDLE value;
  ~OwnedHandle() { CloseHandle(value); }
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) : mapping_(std::make_unique<Mapping>()) {
  mapping_->path = path;
  std::error_code ignored;
  check(!std::filesystem::is_directory(path, ignored), "{}: is a folder; give a file", path.string());
  HANDLE opened = CreateFileW(path.c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr, OPEN_EXISTING,
                              FILE_ATTRIBUTE_NORMAL, nullptr);
  check(opened != INVALID_HANDLE_VALUE, "{}: cannot be read: {}; check the path and its permissions", path.string(),
        windows_reason());
  const OwnedHandle file{opened};
  LARGE_INTEGER size{};
  check(GetFileType(opened) == FILE_TYPE_DISK, "{}: is not a regular file; copy it into one first", path.string());
  check(GetFileSizeEx(opened, &size) != 0, "{}: cannot be read: {}", path.string(), windows_reason());
  mapping_->size = static_cast<size_t>(size.QuadPart);
  if (mapping_->size == 0) return;
  HANDLE made = CreateFileMappingW(opened, nullptr, PAGE_READONLY, 0, 0, nullptr);
  check(made != nullptr, "{}: cannot be mapped into memory: {}", path.string(), windows_reason());
  const OwnedHandle map{made};
  const void* data = MapViewOfFile(made, FILE_MAP_READ, 0, 0, 0);
  check(data != nullptr, "{}: cannot be mapped into memory: {}", path.string(), windows_reason());
  mapping_->data = static_cast<const std::byte*>(data);
}

MappedFile::MappedFile(MappedFile&&) noexcept = default;
MappedFile& MappedFile::operator=(MappedFile&&) noexcept = default;
MappedFile::~MappedFile() = default;

std::span<const std::byte> MappedFile::bytes() const { return {mapping_->data, mapping_->size}; }

const std::filesystem::path& MappedFile::path() const { return mapping_->path; }

void release_pages(std::span<const std::byte>) {}  // the system trims a working set by itself

}  // namespace athanor
#endif
