// Shape of a tensor: up to kMaxRank extents, row-major, in elements.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

namespace athanor {

inline constexpr int kMaxRank = 4;  // (B, T, H, D) is the largest that a model needs

inline constexpr int64_t kMaxElements = int64_t{1} << 62;  // so that a product of extents never leaves int64_t

/// Product of the extents, 1 for none; nothing when one is negative or the product of those above zero exceeds
/// kMaxElements.
std::optional<int64_t> product_of(std::span<const int64_t> extents);

class Shape {
 public:
  Shape() = default;
  /// Throws Error for more than kMaxRank axes, a negative extent, or more than kMaxElements elements.
  Shape(std::initializer_list<int64_t> extents);
  explicit Shape(std::span<const int64_t> extents);

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return extents_[axis]; }
  int64_t last() const { return rank_ == 0 ? 1 : extents_[rank_ - 1]; }
  /// Product of the extents; 1 for a scalar. Overflow was refused by the constructor.
  int64_t num_elements() const;
  /// Product of all extents but the last: the rows of a row kernel.
  int64_t num_rows() const { return last() == 0 ? 0 : num_elements() / last(); }
  std::span<const int64_t> extents() const { return {extents_.data(), static_cast<size_t>(rank_)}; }
  /// "(4, 256, 512)"
  std::string to_string() const;
  bool operator==(const Shape& other) const;

 private:
  std::array<int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

}  // namespace athanor
