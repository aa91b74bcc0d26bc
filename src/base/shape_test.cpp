#include "base/shape.h"

#include <vector>

#include "base/expect_error.h"

namespace athanor {
namespace {

TEST(Shape, CountsElementsAndRows) {
  const Shape shape{4, 256, 512};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape.num_elements(), 4 * 256 * 512);
  EXPECT_EQ(shape.num_rows(), 4 * 256);
  EXPECT_EQ(shape.last(), 512);
  EXPECT_EQ(shape.to_string(), "(4, 256, 512)");
}

TEST(Shape, AScalarHasOneElement) {
  EXPECT_EQ(Shape().num_elements(), 1);
  EXPECT_EQ(Shape().num_rows(), 1);
  EXPECT_EQ(Shape().to_string(), "()");
}

TEST(Shape, AnEmptyAxisMakesAnEmptyShape) {
  EXPECT_EQ((Shape{3, 0}).num_elements(), 0);
  EXPECT_EQ((Shape{3, 0}).num_rows(), 0);
  EXPECT_EQ((Shape{0, 3}).num_elements(), 0);
}

TEST(Shape, EqualityLooksAtRankAndExtents) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_FALSE((Shape{2, 3}) == (Shape{3, 2}));
  EXPECT_FALSE((Shape{2, 3}) == (Shape{2, 3, 1}));
}

TEST(Shape, RefusesANegativeExtent) { EXPECT_ERROR((Shape{2, -1}), "(2, -1) has a negative extent"); }

TEST(Shape, RefusesMoreAxesThanMaxRank) {
  const std::vector<int64_t> extents(kMaxRank + 1, 1);
  EXPECT_ERROR(Shape{std::span<const int64_t>(extents)}, "has 5 axes; at most 4");
}

TEST(Shape, RefusesMoreThanTwoToThe62Elements) {
  EXPECT_EQ((Shape{int64_t{1} << 31, int64_t{1} << 31}).num_elements(), int64_t{1} << 62);
  EXPECT_ERROR((Shape{int64_t{1} << 31, (int64_t{1} << 31) + 1}), "more than 2^62 elements");
  EXPECT_ERROR((Shape{INT64_MAX, INT64_MAX, INT64_MAX}), "more than 2^62 elements");
}

TEST(Shape, AZeroHidesNoOverflowWhereverItStands) {
  const int64_t large = int64_t{1} << 40;
  EXPECT_ERROR((Shape{0, large, large}), "more than 2^62 elements");
  EXPECT_ERROR((Shape{large, large, 0}), "more than 2^62 elements");
}

}  // namespace
}  // namespace athanor
