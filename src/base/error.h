// The one exception type of athanor and the check at every public door.
// A message says who, what was seen, and what to do; only cli/ prints it.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace athanor {

/// Everything that athanor refuses is thrown as this.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Error with the formatted message.
template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

/// Throws Error with the formatted message unless the condition holds.
/// Parts are in fmt's notation: check(n == m, "add: {} values but {} are needed; pass {}", n, m, m).
template <typename... Args>
void check(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) fail(format, std::forward<Args>(args)...);
}

}  // namespace athanor
