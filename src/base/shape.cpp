// Shapes, and the product of extents that refuses to overflow.
#include "base/shape.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace athanor {

std::optional<int64_t> product_of(std::span<const int64_t> extents) {
  // Zero last: {2^40, 2^40, 0} is refused in every order, since a product of some of its axes overflows.
  int64_t product = 1;
  bool is_empty = false;
  for (const int64_t extent : extents) {
    if (extent < 0) return std::nullopt;
    if (extent == 0) {
      is_empty = true;
      continue;
    }
    if (extent > kMaxElements / product) return std::nullopt;
    product *= extent;
  }
  return is_empty ? 0 : product;
}

Shape::Shape(std::initializer_list<int64_t> extents)
    : Shape(std::span<const int64_t>(extents.begin(), extents.size())) {}

Shape::Shape(std::span<const int64_t> extents) {
  check(extents.size() <= static_cast<size_t>(kMaxRank), "shape: ({}) has {} axes; at most {} are possible",
        fmt::join(extents, ", "), extents.size(), kMaxRank);
  check(std::ranges::all_of(extents, [](int64_t extent) { return extent >= 0; }),
        "shape: ({}) has a negative extent; give sizes from 0 on", fmt::join(extents, ", "));
  check(product_of(extents).has_value(), "shape: ({}) has more than 2^62 elements; give smaller sizes",
        fmt::join(extents, ", "));
  std::ranges::copy(extents, extents_.begin());
  rank_ = static_cast<int>(extents.size());
}

int64_t Shape::num_elements() const {
  int64_t product = 1;
  for (const int64_t extent : extents()) product *= extent;
  return product;
}

std::string Shape::to_string() const { return fmt::format("({})", fmt::join(extents(), ", ")); }

bool Shape::operator==(const Shape& other) const { return std::ranges::equal(extents(), other.extents()); }

}  // namespace athanor
