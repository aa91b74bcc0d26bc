// Memory maps on POSIX systems.
#ifndef _WIN32
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "base/error.h"
#include "base/mapped_file.h"

namespace athanor {

struct MappedFile::Mapping {
  std::filesystem::path path;
  const std::byte* data = nullptr;
  size_t size = 0;

  ~Mapping() {
    if (data != nullptr) ::munmap(const_cast<std::byte*>(data), size);
  }
};

namespace {

std::string reason() { return std::generic_category().message(errno); }

struct Descriptor {
  int value;
  ~Descriptor() { ::close(value); }
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) : mapping_(std::make_unique<Mapping>()) {
  mapping_->path = path;
  // O_NONBLOCK: opening a pipe must not wait for its writer; it is refused below.
  const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  check(opened >= 0, "{}: cannot be read: {}; check the path and its permissions", path.string(), reason());
  const Descriptor file{opened};
  struct stat status{};
  check(::fstat(file.value, &status) == 0, "{}: cannot be read: {}", path.string(), reason());
  check(!S_ISDIR(status.st_mode), "{}: is a folder; give a file", path.string());
  check(S_ISREG(status.st_mode), "{}: is not a regular file; copy it into one first", path.string());
  mapping_->size = static_cast<size_t>(status.st_size);
  if (mapping_->size == 0) return;
  void* data = ::mmap(nullptr, mapping_->size, PROT_READ, MAP_PRIVATE, file.value, 0);
  check(data != MAP_FAILED, "{}: cannot be mapped into memory: {}", path.string(), reason());
  mapping_->data = static_cast<const std::byte*>(data);
}

MappedFile::MappedFile(MappedFile&&) noexcept = default;
MappedFile& MappedFile::operator=(MappedFile&&) noexcept = default;
MappedFile::~MappedFile() = default;

std::span<const std::byte> MappedFile::bytes() const { return {mapping_->data, mapping_->size}; }

const std::filesystem::path& MappedFile::path() const { return mapping_->path; }

void release_pages(std::span<const std::byte> mapped) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(mapped.data());
  const uintptr_t first = (begin + page - 1) / page * page;
  const uintptr_t last = (begin + mapped.size()) / page * page;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace athanor
#endif
