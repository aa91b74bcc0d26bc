// What could steer a terminal is written out.
#include "base/printable.h"

#include <gtest/gtest.h>

namespace athanor {
namespace {

TEST(Printable, WritesControlCharactersOut) {
  EXPECT_EQ(printable("\x1b[31mred\x1b]0;title\x07"), "\\x1b[31mred\\x1b]0;title\\x07");
  EXPECT_EQ(printable(std::string_view("a\0b\x7f\b", 5)), "a\\x00b\\x7f\\x08");
  EXPECT_EQ(printable("\u009b2J"), "\\u009b2J");  // a CSI of one character
  EXPECT_EQ(printable("over\rwritten"), "over\\x0dwritten");
}

TEST(Printable, LeavesTextAsItIs) {
  for (const char* text :
       {"", "plain", "a\tb\nc\r\n", "Gr\u00fc\u00dfe \u4f60\u597d \U0001f600", "\xff\xfe\xc2", "\u00a0"})
    EXPECT_EQ(printable(text), text);
}

}  // namespace
}  // namespace athanor
