// Which known name a misspelt one may have meant.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace athanor {

/// The candidate that takes the fewest letters inserted, removed or changed, at most `most` of them; of equal ones the first. Empty when
/// none is so near.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates, size_t most = 3);

}  // namespace athanor
