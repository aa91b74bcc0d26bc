// Progress lines with a clock and a terminal of the test's own.
#include "cli/progress.h"

#include <gtest/gtest.h>

#include <string>

namespace athanor::cli {
namespace {

class ProgressTest : public ::testing::Test {
 protected:
  ProgressSink sink(bool redraws) {
    ProgressStyle style;
    style.redraws = redraws;
    style.write = [this](std::string_view text) { written_ += text; };
    style.clock = [this] { return now_; };
    return make_progress_sink(std::move(style));
  }
  double now_ = 1000;
  std::string written_;
};

TEST_F(ProgressTest, OnATerminalOneLineIsRedrawnAndEndsWithANewline) {
  const ProgressSink show = sink(true);
  show("step 1");
  show("step 2");
  EXPECT_EQ(written_.find('\n'), std::string::npos);
  EXPECT_EQ(written_.substr(0, 4), "\r\x1b[K");
  EXPECT_NE(written_.find("step 2"), std::string::npos);
  show("");
  EXPECT_EQ(written_.back(), '\n');
  const size_t length = written_.size();
  show("");
  EXPECT_EQ(written_.size(), length);
}

TEST_F(ProgressTest, ElsewhereALineIsPrintedAtMostEveryTenSeconds) {
  const ProgressSink show = sink(false);
  show("step 1");
  now_ += 9;
  show("step 2");
  EXPECT_EQ(written_, "step 1\n");
  now_ += 1;
  show("step 3");
  EXPECT_EQ(written_, "step 1\nstep 3\n");
}

TEST_F(ProgressTest, ElsewhereTheLastTextIsPrintedWhenItEnds) {
  const ProgressSink show = sink(false);
  show("step 1");
  show("step 2");
  show("step 3");
  show("");
  EXPECT_EQ(written_, "step 1\nstep 3\n");
  show("");
  EXPECT_EQ(written_, "step 1\nstep 3\n");
  show("again");
  EXPECT_EQ(written_, "step 1\nstep 3\nagain\n");
}

TEST_F(ProgressTest, WhatPassesLeavesNothingBehind) {
  ProgressStyle style;
  style.redraws = true;
  style.erases_at_end = true;
  style.write = [this](std::string_view text) { written_ += text; };
  const ProgressSink show = make_progress_sink(std::move(style));
  show("kernel 1");
  show("");
  EXPECT_EQ(written_.find('\n'), std::string::npos);
  EXPECT_TRUE(written_.ends_with("\r\x1b[K")) << written_;
}

TEST_F(ProgressTest, WhatPassesIsNotShownWhereNoLineCanBeRedrawn) {
  ::testing::internal::CaptureStderr();
  const ProgressSink show = make_passing_progress_sink(false);
  show("kernel 1");
  show("");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(ProgressTest, QuietShowsNothing) {
  ::testing::internal::CaptureStderr();
  const ProgressSink show = make_progress_sink(true);
  show("step 1");
  show("");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace athanor::cli
