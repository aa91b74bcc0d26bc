// Files on Windows.
#ifdef _WIN32
#include "base/os_file.h"

#include "base/error.h"
#include "base/windows_api.h"

namespace athanor::os_file {
namespace {

HANDLE handle_of(Handle file) { return reinterpret_cast<HANDLE>(file); }

}  // namespace

Handle create(const std::filesystem::path& path) {
  HANDLE file =
      CreateFileW(path.c_str(), GENERIC_READ | GENERIC_WRITE, 0, nullptr, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr);
  check(file != INVALID_HANDLE_VALUE, "{}: cannot be written: {}; choose a folder that exists and is yours to write",
        path.string(), windows_reason());
  return reinterpret_cast<Handle>(file);
}

void write_all(Handle file, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    // WriteFile counts in 32 bits.
    const DWORD piece = bytes.size() > (1u << 28) ? (1u << 28) : static_cast<DWORD>(bytes.size());
    DWORD written = 0;
    check(WriteFile(handle_of(file), bytes.data(), piece, &written, nullptr) != 0,
          "{}: writing failed: {}; free some space or choose another disk", path.string(), windows_reason());
    bytes = bytes.subspan(written);
  }
}

namespace {

/// A place in the file for one call. A call with it moves the file's own position all the same.
OVERLAPPED place_of(uint64_t offset) {
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return place;
}

LARGE_INTEGER position_of(HANDLE file) {
  LARGE_INTEGER position{};
  SetFilePointerEx(file, LARGE_INTEGER{}, &position, FILE_CURRENT);
  return position;
}

}  // namespace

void write_at(Handle file, uint64_t offset, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  const LARGE_INTEGER position = position_of(handle_of(file));
  while (!bytes.empty()) {
    OVERLAPPED place = place_of(offset);
    const DWORD piece = bytes.size() > (1u << 28) ? (1u << 28) : static_cast<DWORD>(bytes.size());
    DWORD written = 0;
    check(WriteFile(handle_of(file), bytes.data(), piece, &written, &place) != 0,
          "{}: writing failed: {}; free some space or choose another disk", path.string(), windows_reason());
    bytes = bytes.subspan(written);
    offset += written;
  }
  SetFilePointerEx(handle_of(file), position, nullptr, FILE_BEGIN);
}

void read_at(Handle file, uint64_t offset, std::span<std::byte> bytes, const std::filesystem::path& path) {
  const LARGE_INTEGER position = position_of(handle_of(file));
  while (!bytes.empty()) {
    OVERLAPPED place = place_of(offset);
    const DWORD piece = bytes.size() > (1u << 28) ? (1u << 28) : static_cast<DWORD>(bytes.size());
    DWORD count = 0;
    check(ReadFile(handle_of(file), bytes.data(), piece, &count, &place) != 0 && count > 0,
          "{}: reading back failed: {}; try again on another disk", path.string(), windows_reason());
    bytes = bytes.subspan(count);
    offset += count;
  }
  SetFilePointerEx(handle_of(file), position, nullptr, FILE_BEGIN);
}

void flush(Handle file, const std::filesystem::path& path) {
  check(FlushFileBuffers(handle_of(file)) != 0, "{}: flushing to the disk failed: {}", path.string(), windows_reason());
}

void close(Handle file) noexcept { CloseHandle(handle_of(file)); }

void flush_file(const std::filesystem::path& path) {
  HANDLE file = CreateFileW(path.c_str(), GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr, OPEN_EXISTING,
                            FILE_ATTRIBUTE_NORMAL, nullptr);
  check(file != INVALID_HANDLE_VALUE, "{}: cannot be opened to flush it: {}", path.string(), windows_reason());
  const bool flushed = FlushFileBuffers(file) != 0;
  const std::string text = flushed ? "" : windows_reason();
  CloseHandle(file);
  check(flushed, "{}: flushing to the disk failed: {}", path.string(), text);
}

void flush_folder(const std::filesystem::path&) {}  // NTFS journals renames by itself

void rename_file(const std::filesystem::path& from, const std::filesystem::path& onto) {
  check(MoveFileExW(from.c_str(), onto.c_str(), MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) != 0,
        "{}: renaming {} onto it failed: {}", onto.string(), from.string(), windows_reason());
}

bool exchange(const std::filesystem::path&, const std::filesystem::path&) { return false; }

int64_t process_id() { return static_cast<int64_t>(GetCurrentProcessId()); }

void kill_this_process() {
  for (;;) TerminateProcess(GetCurrentProcess(), 137);
}

bool process_is_alive(int64_t id) {
  HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, static_cast<DWORD>(id));
  if (process == nullptr) return GetLastError() == ERROR_ACCESS_DENIED;
  DWORD code = 0;
  const bool alive = GetExitCodeProcess(process, &code) != 0 && code == STILL_ACTIVE;
  CloseHandle(process);
  return alive;
}

}  // namespace athanor::os_file
#endif
