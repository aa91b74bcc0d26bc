// What atomic_file needs of the operating system; the only place that knows how each one flushes, renames and swaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace athanor::os_file {

/// An open file: a descriptor, or a HANDLE on Windows. -1 is none.
using Handle = intptr_t;
inline constexpr Handle kNone = -1;

/// Makes a file that must not be there yet. Throws Error with the path and the system's reason, as all below do.
Handle create(const std::filesystem::path& path);
/// Writes all bytes; interrupted and short writes go on.
void write_all(Handle file, std::span<const std::byte> bytes, const std::filesystem::path& path);
/// Writes all bytes from `offset` on, over what is there; where write_all goes on is as before.
void write_at(Handle file, uint64_t offset, std::span<const std::byte> bytes, const std::filesystem::path& path);
/// Reads back all of `bytes` from `offset` on. Throws Error when the file is shorter.
void read_at(Handle file, uint64_t offset, std::span<std::byte> bytes, const std::filesystem::path& path);
/// Flushes file and metadata to the disk.
void flush(Handle file, const std::filesystem::path& path);
/// Throws nothing: the bytes are safe after flush().
void close(Handle file) noexcept;

/// Opens, flushes and closes a file that others have written.
void flush_file(const std::filesystem::path& path);
/// Makes renames within the folder last. Nothing on systems and file systems that have no such thing.
void flush_folder(const std::filesystem::path& path);

/// Renames a file onto another, which is replaced in one step.
void rename_file(const std::filesystem::path& from, const std::filesystem::path& onto);
/// Swaps two paths in one step; false when the system cannot.
bool exchange(const std::filesystem::path& a, const std::filesystem::path& b);

int64_t process_id();
bool process_is_alive(int64_t id);
/// At once and without a trace, as SIGKILL does.
[[noreturn]] void kill_this_process();

}  // namespace athanor::os_file
