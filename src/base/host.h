// What the operating system tells of this machine and process, and interrupts.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace athanor {

/// Hardware threads this process may run on (affinity and cgroup limits respected), at least 1.
int available_threads();
/// Physical memory in bytes; 0 when unknown.
int64_t total_memory_bytes();
/// Memory that this process may still take without the machine, or its control group, running short; 0 when unknown.
int64_t available_memory_bytes();
/// Peak resident memory of this process in bytes (VmHWM); 0 when unknown.
int64_t peak_resident_bytes();
/// Anonymous memory of this process (RssAnon): what it made itself, without pages of files; 0 when unknown.
int64_t anonymous_resident_bytes();
/// Its peak: VmHWM without the pages of files that are resident now; 0 when unknown.
int64_t peak_anonymous_bytes();
/// Gives memory that was freed, and that the C library keeps for later, back to the system, where the library can do that.
void release_freed_memory();
/// "Intel(R) Xeon(R) Processor"; empty when unknown.
std::string cpu_name();
/// Folder of the running executable.
std::filesystem::path executable_folder();
/// $XDG_CACHE_HOME/athanor, else ~/.cache/athanor, or the system's own place for caches.
std::filesystem::path cache_folder();
/// Names of the variables in this process's environment that begin so.
std::vector<std::string> environment_names(std::string_view prefix);
/// Seconds of a steady clock.
double now_seconds();

/// From now on the first Ctrl-C (SIGINT, SIGTERM, SIGHUP unless ignored) sets a flag that interrupted() reads; a second one ends the process
/// with 130.
void catch_interrupts();
bool interrupted();

/// Thrown where long work before the first step meets an interrupt: nothing of it is kept.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

/// Standard error / output is a terminal.
bool stderr_is_terminal();
bool stdout_is_terminal();

}  // namespace athanor
