// Misspelt names.
#include "base/nearest_name.h"

#include <gtest/gtest.h>

#include <vector>

namespace athanor {
namespace {

TEST(NearestName, IsTheOneWithTheFewestChangedLetters) {
  const std::vector<std::string> known = {"max_steps", "max_length", "warmup_steps"};
  EXPECT_EQ(nearest_name("max_step", known), "max_steps");
  EXPECT_EQ(nearest_name("maxsteps", known), "max_steps");
  EXPECT_EQ(nearest_name("max_lenght", known), "max_length");
  EXPECT_EQ(nearest_name("max_steps", known), "max_steps");
}

TEST(NearestName, IsEmptyWhereNothingIsNear) {
  const std::vector<std::string> known = {"max_steps"};
  EXPECT_EQ(nearest_name("colour", known), "");
  EXPECT_EQ(nearest_name("max_steps", {}), "");
  EXPECT_EQ(nearest_name("max", known, 5), "");
  EXPECT_EQ(nearest_name("max", known, 6), "max_steps");
}

}  // namespace
}  // namespace athanor
