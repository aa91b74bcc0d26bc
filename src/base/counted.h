// A number and its noun, for what people read.
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <string>
#include <string_view>

namespace athanor {

/// "1 step", "2 steps"; `many` for a plural that is not made by an s: counted(n, "entry", "entries").
template <std::integral Number>
std::string counted(Number number, std::string_view one, std::string_view many = {}) {
  if (number == 1) return fmt::format("{} {}", number, one);
  return many.empty() ? fmt::format("{} {}s", number, one) : fmt::format("{} {}", number, many);
}

}  // namespace athanor
