// Limits that a container or service manager puts on this process (Linux control groups, both versions).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace athanor::cgroup {

/// The smallest limits on the way from this process's group up to the root; nothing where there is none.
struct Limits {
  std::optional<int64_t> memory_bytes;
  std::optional<int64_t>
      free_memory_bytes;  // least that a limit leaves; pages of files that can be dropped count as free
  std::optional<double> cpus;
};

/// Reads `membership` (the text of /proc/self/cgroup) and the tree mounted at `root` (/sys/fs/cgroup). What cannot be
/// read is no limit.
Limits read_limits(const std::string& membership, const std::filesystem::path& root);

}  // namespace athanor::cgroup
