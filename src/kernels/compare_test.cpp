// The judge itself.
#include "kernels/compare.h"

#include <gtest/gtest.h>

#include <limits>

namespace athanor::kernels {
namespace {

CaseResult compared(const std::vector<float>& got, const std::vector<double>& want, double allowed) {
  CaseResult result;
  compare(result, "values", got, want, allowed);
  return result;
}

TEST(Compare, SeesAWrongValueWhereverItStands) {
  for (const double allowed : {0.0, 1e-6}) {
    EXPECT_TRUE(compared({1, 2, 3}, {1, 2, 3}, allowed).passed()) << allowed;
    EXPECT_FALSE(compared({1.5F, 2, 3}, {1, 2, 3}, allowed).passed()) << allowed;
    EXPECT_FALSE(compared({1, 2.5F, 3}, {1, 2, 3}, allowed).passed()) << allowed;
    EXPECT_FALSE(compared({1, 2, 3.5F}, {1, 2, 3}, allowed).passed()) << allowed;
  }
}

TEST(Compare, KeepsTheWorstOfSeveralTensors) {
  CaseResult result;
  compare(result, "loose", std::vector<float>{1.5F}, std::vector<double>{1}, 1);
  compare(result, "exact", std::vector<float>{2}, std::vector<double>{2}, 0);
  EXPECT_TRUE(result.passed());
  EXPECT_EQ(result.where.substr(0, 5), "loose");
  compare(result, "exact", std::vector<float>{2.5F, 3}, std::vector<double>{2, 3}, 0);
  EXPECT_FALSE(result.passed());
  EXPECT_EQ(result.where.substr(0, 8), "exact[0]");
}

TEST(Compare, TakesNanAndInfinityOnOneSideOnlyAsWrong) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(compared({nan}, {1}, 1).passed());
  EXPECT_FALSE(compared({1}, {infinity}, 1).passed());
  EXPECT_FALSE(compared({infinity}, {-infinity}, 1).passed());
  EXPECT_TRUE(compared({nan, infinity}, {nan, infinity}, 1e-6).passed());
}

}  // namespace
}  // namespace athanor::kernels
