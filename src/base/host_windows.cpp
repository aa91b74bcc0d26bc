// The machine and process on Windows.
#ifdef _WIN32
#include <io.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/error.h"
#include "base/host.h"
#include "base/windows_api.h"

#include <psapi.h>  // after windows.h, whose types it needs

namespace athanor {

namespace fs = std::filesystem;

int available_threads() {
  DWORD_PTR own = 0, all = 0;
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  // The mask covers one group of at most 64 processors.
  if (threads <= 64 && GetProcessAffinityMask(GetCurrentProcess(), &own, &all) != 0) {
    threads = 0;
    for (; own != 0; own &= own - 1) ++threads;
  }
  return std::max(threads, 1);
}

int64_t total_memory_bytes() {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof(status);
  return GlobalMemoryStatusEx(&status) != 0 ? static_cast<int64_t>(status.ullTotalPhys) : 0;
}

int64_t available_memory_bytes() {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof(status);
  return GlobalMemoryStatusEx(&status) != 0 ? static_cast<int64_t>(status.ullAvailPhys) : 0;
}

int64_t peak_resident_bytes() {
  PROCESS_MEMORY_COUNTERS counters{};
  return K32GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof(counters)) != 0
             ? static_cast<int64_t>(counters.PeakWorkingSetSize)
             : 0;
}

int64_t anonymous_resident_bytes() { return 0; }
int64_t peak_anonymous_bytes() { return 0; }

void release_freed_memory() { HeapCompact(GetProcessHeap(), 0); }

std::string cpu_name() {
  char name[256] = {};
  DWORD size_bytes = sizeof(name);
  const LSTATUS status = RegGetValueA(HKEY_LOCAL_MACHINE, "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0",
                                      "ProcessorNameString", RRF_RT_REG_SZ, nullptr, name, &size_bytes);
  return status == ERROR_SUCCESS ? name : "";
}

fs::path executable_folder() {
  std::wstring path(32768, L'\0');
  const DWORD length = GetModuleFileNameW(nullptr, path.data(), static_cast<DWORD>(path.size()));
  check(length > 0 && length < path.size(), "host: the system does not tell where this program lies: {}",
        windows_reason());
  path.resize(length);
  return fs::path(path).parent_path();
}

std::vector<std::string> environment_names(std::string_view prefix) {
  std::vector<std::string> names;
  char* const block = GetEnvironmentStringsA();
  if (block == nullptr) return names;
  // Texts one behind the other, the last one empty.
  for (const char* entry = block; *entry != '\0'; entry += std::string_view(entry).size() + 1) {
    const std::string_view text(entry);
    if (text.starts_with(prefix)) names.emplace_back(text.substr(0, text.find('=')));
  }
  FreeEnvironmentStringsA(block);
  return names;
}

fs::path cache_folder() {
  for (const wchar_t* name : {L"XDG_CACHE_HOME", L"LOCALAPPDATA"}) {
    const wchar_t* text = _wgetenv(name);
    if (text != nullptr && fs::path(text).is_absolute()) return fs::path(text) / "athanor";
  }
  return fs::temp_directory_path() / "athanor";
}

bool stderr_is_terminal() { return _isatty(_fileno(stderr)) != 0; }
bool stdout_is_terminal() { return _isatty(_fileno(stdout)) != 0; }

}  // namespace athanor
#endif
