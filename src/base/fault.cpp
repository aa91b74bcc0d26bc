// The fault asked for, with the count of calls so far.
#include "base/fault.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>

#include "base/error.h"
#include "base/os_file.h"

namespace athanor {
namespace {

/// What stands before the next colon; `rest` keeps what is behind it.
std::string_view next_part(std::string_view& rest) {
  const size_t colon = std::min(rest.find(':'), rest.size());
  const std::string_view part = rest.substr(0, colon);
  rest.remove_prefix(std::min(colon + 1, rest.size()));
  return part;
}

int64_t count_of(std::string_view digits, std::string_view fault) {
  int64_t count = 0;
  const auto [stop, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  check(failed == std::errc() && stop == digits.data() + digits.size() && count >= 1,
        "ATHANOR_FAULT: \"{}\" is not \"name\", \"name:first\" or \"name:first:last\" with counts of at least 1",
        fault);
  return count;
}

struct Fault {
  std::mutex mutex;
  std::string name;
  int64_t first_failing = 1;
  int64_t last_failing = INT64_MAX;
  int64_t calls = 0;
  int pauses = 0;

  Fault() {
    if (const char* text = std::getenv("ATHANOR_FAULT")) set(text);
  }

  void set(std::string_view text) {
    std::string_view rest = text;
    const std::string_view asked = next_part(rest);
    const int64_t first = rest.empty() ? 1 : count_of(next_part(rest), text);
    const int64_t last = rest.empty() ? INT64_MAX : count_of(rest, text);
    // Nothing is kept of a text that was refused.
    name = asked;
    first_failing = first;
    last_failing = last;
    calls = 0;
  }
};

Fault& the_fault() {
  static Fault fault;
  return fault;
}

}  // namespace

NoFaults::NoFaults() {
  const std::lock_guard lock(the_fault().mutex);
  the_fault().pauses += 1;
}

NoFaults::~NoFaults() {
  const std::lock_guard lock(the_fault().mutex);
  the_fault().pauses -= 1;
}

bool fault_due(std::string_view name) {
  Fault& fault = the_fault();
  const std::lock_guard lock(fault.mutex);
  if (fault.pauses > 0 || fault.name.empty() || fault.name != name) return false;
  fault.calls += 1;
  return fault.calls >= fault.first_failing && fault.calls <= fault.last_failing;
}

void kill_point(std::string_view name) {
  if (fault_due(name)) os_file::kill_this_process();
}

void set_fault(std::string_view fault) {
  Fault& kept = the_fault();
  const std::lock_guard lock(kept.mutex);
  kept.set(fault);
}

}  // namespace athanor
