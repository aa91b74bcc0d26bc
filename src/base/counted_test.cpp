// Numbers and their nouns.
#include "base/counted.h"

#include <gtest/gtest.h>

namespace athanor {
namespace {

TEST(Counted, OneIsSingularAndAllElsePlural) {
  EXPECT_EQ(counted(1, "step"), "1 step");
  EXPECT_EQ(counted(0, "step"), "0 steps");
  EXPECT_EQ(counted(2, "entry", "entries"), "2 entries");
  EXPECT_EQ(counted(1, "entry", "entries"), "1 entry");
}

}  // namespace
}  // namespace athanor
