// The machine and process on Linux, macOS and other POSIX systems.
#ifndef _WIN32
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#include <sys/sysctl.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>

#include "base/cgroup.h"
#include "base/error.h"
#include "base/host.h"

extern char** environ;

namespace athanor {
namespace {

namespace fs = std::filesystem;

#ifndef __APPLE__
/// What follows "name   : " in a file such as /proc/cpuinfo; empty when there is no such line.
std::string value_in(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}
#endif

/// A size of /proc/self/status in bytes; 0 where there is none.
int64_t status_bytes(const char* name) {
#ifdef __APPLE__
  static_cast<void>(name);
  return 0;
#else
  int64_t kilobytes = 0;
  std::istringstream(value_in("/proc/self/status", name)) >> kilobytes;
  return kilobytes * 1024;
#endif
}

cgroup::Limits own_limits() {
  std::ostringstream membership;
  membership << std::ifstream("/proc/self/cgroup").rdbuf();
  return cgroup::read_limits(membership.str(), "/sys/fs/cgroup");
}

int threads_by_affinity() {
#ifdef __linux__
  // The kernel refuses a set smaller than its own, so the set grows until it fits.
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    if (set == nullptr) break;
    const size_t size_bytes = CPU_ALLOC_SIZE(cpus);
    const bool fits = ::sched_getaffinity(0, size_bytes, set) == 0;
    const int count = fits ? CPU_COUNT_S(size_bytes, set) : 0;
    CPU_FREE(set);
    if (fits) return count;
  }
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

/// An environment variable that holds an absolute path; empty otherwise.
fs::path folder_from_environment(const char* name) {
  const char* text = std::getenv(name);
  const fs::path path = text != nullptr ? text : "";
  return path.is_absolute() ? path : fs::path();
}

}  // namespace

int available_threads() {
  int threads = std::max(threads_by_affinity(), 1);
  // A quota of 1.5 processors keeps two threads busy.
  if (const std::optional<double> cpus = own_limits().cpus)
    threads = std::min(threads, static_cast<int>(std::ceil(*cpus)));
  return std::max(threads, 1);
}

int64_t total_memory_bytes() {
#ifdef __APPLE__
  int64_t bytes = 0;
  size_t length = sizeof(bytes);
  return ::sysctlbyname("hw.memsize", &bytes, &length, nullptr, 0) == 0 ? bytes : 0;
#else
  const int64_t pages = ::sysconf(_SC_PHYS_PAGES);
  const int64_t page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return 0;
  const int64_t physical = pages * page_bytes;
  return std::min(physical, own_limits().memory_bytes.value_or(physical));
#endif
}

int64_t available_memory_bytes() {
#ifdef __APPLE__
  return 0;
#else
  int64_t kilobytes = 0;
  std::istringstream(value_in("/proc/meminfo", "MemAvailable")) >> kilobytes;
  const int64_t bytes = kilobytes * 1024;
  return std::min(bytes, own_limits().free_memory_bytes.value_or(bytes));
#endif
}

int64_t peak_resident_bytes() {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
#ifdef __APPLE__
  return usage.ru_maxrss;
#else
  // VmHWM starts anew at exec, where ru_maxrss keeps the parent's peak.
  int64_t kilobytes = 0;
  if (std::istringstream(value_in("/proc/self/status", "VmHWM")) >> kilobytes) return kilobytes * 1024;
  return int64_t{usage.ru_maxrss} * 1024;
#endif
}

int64_t anonymous_resident_bytes() { return status_bytes("RssAnon"); }

int64_t peak_anonymous_bytes() {
  const int64_t peak = status_bytes("VmHWM");
  return peak == 0 ? 0 : std::max(status_bytes("RssAnon"), peak - status_bytes("RssFile") - status_bytes("RssShmem"));
}

void release_freed_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

std::string cpu_name() {
#ifdef __APPLE__
  char name[256] = {};
  size_t length = sizeof(name) - 1;
  return ::sysctlbyname("machdep.cpu.brand_string", name, &length, nullptr, 0) == 0 ? name : "";
#else
  return value_in("/proc/cpuinfo", "model name");
#endif
}

fs::path executable_folder() {
#ifdef __APPLE__
  std::string path(4096, '\0');
  uint32_t length = static_cast<uint32_t>(path.size());
  check(::_NSGetExecutablePath(path.data(), &length) == 0, "host: the system does not tell where this program lies");
  return fs::canonical(path.c_str()).parent_path();
#else
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  check(!error, "host: /proc/self/exe, which tells where this program lies, cannot be read: {}", error.message());
  return path.parent_path();
#endif
}

std::vector<std::string> environment_names(std::string_view prefix) {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.starts_with(prefix)) names.emplace_back(text.substr(0, text.find('=')));
  }
  return names;
}

fs::path cache_folder() {
  if (const fs::path folder = folder_from_environment("XDG_CACHE_HOME"); !folder.empty()) return folder / "athanor";
  if (const fs::path home = folder_from_environment("HOME"); !home.empty()) {
#ifdef __APPLE__
    return home / "Library/Caches/athanor";
#else
    return home / ".cache/athanor";
#endif
  }
  // A service without a home: the user's number keeps two users apart.
  return fs::temp_directory_path() / ("athanor-cache-" + std::to_string(::getuid()));
}

bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }
bool stdout_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }

}  // namespace athanor
#endif
