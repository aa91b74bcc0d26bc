// Bounding a batch in time, and the size classes of the pool: plain arithmetic, no device.
#include "device/webgpu/batch_clock.h"

#include "base/expect_error.h"
#include "device/webgpu/buffer_pool.h"

#include <gtest/gtest.h>

namespace athanor::device::webgpu {
namespace {

TEST(BatchClock, TakesTheLargerOfArithmeticAndTraffic) {
  const BatchClock clock(0.2, false);
  const double idle = clock.estimate({0, 1}, 0);
  EXPECT_GT(clock.estimate({1e9, 1}, 0), idle);
  EXPECT_GT(clock.estimate({0, 1e9}, 0), idle);
  EXPECT_DOUBLE_EQ(clock.estimate({1e12, 1e9}, 0), clock.estimate({1e12, 1}, 0));
  EXPECT_DOUBLE_EQ(clock.estimate({0, 0}, 1 << 20), clock.estimate({0, 1 << 20}, 5));
}

TEST(BatchClock, BelievesASlowBatchAtOnceAndAFastOneByHalves) {
  BatchClock clock(0.2, false);
  const double before = clock.estimate({1e9, 0}, 0);
  clock.measured(0.1, 1.0, true);
  EXPECT_NEAR(clock.estimate({1e9, 0}, 0), 10 * before, 1e-9);
  clock.measured(1.0, 0.1, true);
  EXPECT_NEAR(clock.estimate({1e9, 0}, 0), 5.5 * before, 1e-9);
}

TEST(BatchClock, DoesNotTakeALateLookForASlowBatch) {
  BatchClock clock(0.2, false);
  clock.measured(0.1, 5.0, false);
  EXPECT_DOUBLE_EQ(clock.factor(), 1.0);
  clock.measured(0.1, 0.05, false);  // but a late look that is still early shows a fast one
  EXPECT_LT(clock.factor(), 1.0);
}

TEST(BatchClock, SettlesOnTheTrueSpeedOfAnAdapter) {
  BatchClock clock(0.2, false);
  for (int i = 0; i < 60; ++i) {
    const double estimated = clock.estimate({1e10, 0}, 0);
    clock.measured(estimated, 0.002, true);
  }
  EXPECT_NEAR(clock.estimate({1e10, 0}, 0), 0.002, 1e-4);
}

TEST(BatchClock, RefusesALimitThatBoundsNothing) {
  EXPECT_ERROR(BatchClock(0, false), "batches of 0 seconds");
  EXPECT_ERROR(BatchClock(60, false), "batches of 60 seconds");
}

TEST(SizeClass, LosesAtMostAnEighth) {
  EXPECT_EQ(size_class(1), 256);
  EXPECT_EQ(size_class(256), 256);
  EXPECT_EQ(size_class(260), 288);
  EXPECT_EQ(size_class(1024), 1024);
  for (int64_t size = 4; size < (int64_t{1} << 33); size = size * 9 / 7 / 4 * 4 + 4) {
    const int64_t rounded = size_class(size);
    ASSERT_GE(rounded, size);
    ASSERT_EQ(rounded % 4, 0);
    if (size > 256) {
      ASSERT_LE(rounded, size + size / 8 + 4) << size;
    }
    ASSERT_EQ(size_class(rounded), rounded);
  }
}

}  // namespace
}  // namespace athanor::device::webgpu
