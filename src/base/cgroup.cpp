// Walks from the process's own group to the root, since a limit on any of them holds. Inside a container the path that
// /proc tells may not exist under the mount; then only the root is found there, which is the container's own group.
#include "base/cgroup.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace athanor::cgroup {
namespace {

namespace fs = std::filesystem;

template <typename T>
void lower_to(std::optional<T>& limit, T value) {
  if (value > 0) limit = limit ? std::min(*limit, value) : value;
}

/// The number behind a name in a file of lines "name number"; 0 where there is none.
int64_t statistic(const fs::path& file, const std::string& wanted) {
  std::ifstream lines(file);
  std::string name;
  for (int64_t value = 0; lines >> name >> value;) {
    if (name == wanted) return value;
  }
  return 0;
}

/// A group's memory: its limit, and what is left of it.
void lower_memory(Limits& limits, const fs::path& limit_file, const fs::path& usage_file, int64_t file_bytes) {
  int64_t limit = 0, used = 0;
  if (!(std::ifstream(limit_file) >> limit)) return;
  lower_to(limits.memory_bytes, limit);
  if (limit <= 0 || !(std::ifstream(usage_file) >> used)) return;
  const int64_t free = std::max<int64_t>(0, limit - std::max<int64_t>(0, used - file_bytes));
  limits.free_memory_bytes = limits.free_memory_bytes ? std::min(*limits.free_memory_bytes, free) : free;
}

/// Groups from the given one up to the mount, which is the last.
template <typename Visit>
void for_each_group(const fs::path& mount, const std::string& group, Visit visit) {
  fs::path relative = fs::path(group).lexically_normal().relative_path();
  // "/../.." stands for groups above a namespace's root, which are not mounted here.
  if (relative.begin() != relative.end() && *relative.begin() == "..") relative.clear();
  while (!relative.empty()) {
    visit(mount / relative);
    relative = relative.parent_path();
  }
  visit(mount);
}

void read_version2(const fs::path& folder, Limits& limits) {
  lower_memory(limits, folder / "memory.max", folder / "memory.current",
               statistic(folder / "memory.stat", "inactive_file"));
  // "max 100000" or "200000 100000": microseconds of a period; "max" is no number and so no limit.
  std::ifstream cpu(folder / "cpu.max");
  double quota = 0, period = 0;
  if (cpu >> quota >> period && period > 0) lower_to(limits.cpus, quota / period);
}

void read_version1_memory(const fs::path& folder, Limits& limits) {
  lower_memory(limits, folder / "memory.limit_in_bytes", folder / "memory.usage_in_bytes",
               statistic(folder / "memory.stat", "total_inactive_file"));
}

void read_version1_cpu(const fs::path& folder, Limits& limits) {
  double quota = 0, period = 0;
  if (std::ifstream(folder / "cpu.cfs_quota_us") >> quota && std::ifstream(folder / "cpu.cfs_period_us") >> period &&
      period > 0) {
    lower_to(limits.cpus, quota / period);
  }
}

bool lists(const std::string& controllers, const std::string& wanted) {
  return ("," + controllers + ",").find("," + wanted + ",") != std::string::npos;
}

}  // namespace

Limits read_limits(const std::string& membership, const fs::path& root) {
  Limits limits;
  std::istringstream lines(membership);
  // Each line: number ":" controllers ":" path. Version 2 has one line with no controllers.
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      for_each_group(root, group, [&](const fs::path& folder) { read_version2(folder, limits); });
    }
    if (lists(controllers, "memory")) {
      for_each_group(root / "memory", group, [&](const fs::path& folder) { read_version1_memory(folder, limits); });
    }
    if (lists(controllers, "cpu")) {
      for_each_group(root / "cpu", group, [&](const fs::path& folder) { read_version1_cpu(folder, limits); });
    }
  }
  return limits;
}

}  // namespace athanor::cgroup
