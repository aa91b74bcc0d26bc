// Files on Linux, macOS and other POSIX systems.
#ifndef _WIN32
#include "base/os_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/fs.h>
#include <sys/syscall.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/error.h"

namespace athanor::os_file {
namespace {

std::string reason() { return std::generic_category().message(errno); }

int descriptor(Handle file) { return static_cast<int>(file); }

}  // namespace

Handle create(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  check(file >= 0, "{}: cannot be written: {}; choose a folder that exists and is yours to write", path.string(),
        reason());
  return file;
}

void write_all(Handle file, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    // Linux writes at most 0x7ffff000 bytes a call; a smaller piece keeps a signal's wait short.
    const size_t piece = std::min<size_t>(bytes.size(), size_t{1} << 28);
    const ssize_t written = ::write(descriptor(file), bytes.data(), piece);
    if (written < 0 && errno == EINTR) continue;
    check(written >= 0, "{}: writing failed: {}; free some space or choose another disk", path.string(), reason());
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void write_at(Handle file, uint64_t offset, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor(file), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    check(written >= 0, "{}: writing failed: {}; free some space or choose another disk", path.string(), reason());
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
}

void read_at(Handle file, uint64_t offset, std::span<std::byte> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::pread(descriptor(file), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    check(count > 0, "{}: reading back failed: {}; try again on another disk", path.string(),
          count < 0 ? reason() : "the file is shorter than what was written");
    bytes = bytes.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
}

void flush(Handle file, const std::filesystem::path& path) {
#ifdef __APPLE__
  // fsync on macOS stops at the drive's cache; some file systems know no F_FULLFSYNC.
  if (::fcntl(descriptor(file), F_FULLFSYNC) == 0) return;
#endif
  int result = 0;
  do {
    result = ::fsync(descriptor(file));
  } while (result != 0 && errno == EINTR);
  // EINVAL and ENOTSUP mean a file system without flushing, not lost data.
  check(result == 0 || errno == EINVAL || errno == ENOTSUP, "{}: flushing to the disk failed: {}", path.string(),
        reason());
}

void close(Handle file) noexcept { ::close(descriptor(file)); }

namespace {

void flush_path(const std::filesystem::path& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC);
  check(file >= 0, "{}: cannot be opened to flush it: {}", path.string(), reason());
  try {
    flush(file, path);
  } catch (...) {
    close(file);
    throw;
  }
  close(file);
}

}  // namespace

void flush_file(const std::filesystem::path& path) { flush_path(path, O_RDONLY); }

void flush_folder(const std::filesystem::path& path) { flush_path(path, O_RDONLY | O_DIRECTORY); }

void rename_file(const std::filesystem::path& from, const std::filesystem::path& onto) {
  check(::rename(from.c_str(), onto.c_str()) == 0, "{}: renaming {} onto it failed: {}", onto.string(), from.string(),
        reason());
}

bool exchange([[maybe_unused]] const std::filesystem::path& a, [[maybe_unused]] const std::filesystem::path& b) {
#if defined(__linux__) && defined(SYS_renameat2) && defined(RENAME_EXCHANGE)
  return ::syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
#elif defined(__APPLE__)
  return ::renamex_np(a.c_str(), b.c_str(), RENAME_SWAP) == 0;
#else
  return false;
#endif
}

int64_t process_id() { return ::getpid(); }

void kill_this_process() {
  for (;;) ::kill(::getpid(), SIGKILL);
}

bool process_is_alive(int64_t id) { return ::kill(static_cast<pid_t>(id), 0) == 0 || errno == EPERM; }

}  // namespace athanor::os_file
#endif
