// The fault asked for, with the count of calls so far.
#include "base/fault.h"

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>

#include "base/error.h"

namespace athanor {
namespace {

struct Fault {
  std::mutex mutex;
  std::string name;
  int64_t first_failing = 1;
  int64_t calls = 0;

  Fault() {
    if (const char* text = std::getenv("ATHANOR_FAULT")) set(text);
  }

  void set(std::string_view text) {
    const size_t colon = text.find(':');
    int64_t count = 1;
    if (colon != std::string_view::npos) {
      const std::string_view digits = text.substr(colon + 1);
      const auto [stop, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
      check(failed == std::errc() && stop == digits.data() + digits.size() && count >= 1,
            "ATHANOR_FAULT: \"{}\" is not \"name\" or \"name:count\" with a count of at least 1", text);
    }
    name = text.substr(0, colon);
    first_failing = count;
    calls = 0;
  }
};

Fault& the_fault() {
  static Fault fault;
  return fault;
}

}  // namespace

bool fault_due(std::string_view name) {
  Fault& fault = the_fault();
  const std::lock_guard lock(fault.mutex);
  if (fault.name.empty() || fault.name != name) return false;
  return ++fault.calls >= fault.first_failing;
}

void set_fault(std::string_view fault) {
  Fault& kept = the_fault();
  const std::lock_guard lock(kept.mutex);
  kept.set(fault);
}

}  // namespace athanor
