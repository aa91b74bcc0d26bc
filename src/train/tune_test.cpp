// What an interrupt leaves: calls that were timed, and the number of those that were not.
#include "train/tune.h"

#include "test_device.h"

#include <gtest/gtest.h>

namespace athanor::train {
namespace {

TrainSettings small_step() {
  TrainSettings settings;
  settings.model_config = {320, 64, 96, 2, 4, 2, 0, 64};
  settings.model_config.complete("test");
  settings.vocab_size = 320;
  settings.max_length = 64;
  settings.per_device_train_batch_size = 4;
  return settings;
}

TEST(Tune, KeepsWhatWasTimedBeforeAnInterrupt) {
  device::Device& device = testing::device();
  if (device.info().backend == device::Backend::Cpu) GTEST_SKIP() << "the CPU has nothing to tune";
  bool is_interrupted = false;
  const auto progress = [&](std::string_view text) { is_interrupted |= text.starts_with("tune: 2 of"); };
  const TrainSettings step = small_step();
  const TuneReport report = tune(device, {&step, 1}, {}, 60, progress, [&] { return is_interrupted; });
  ASSERT_EQ(report.calls.size(), 1);
  EXPECT_GT(report.left, 0);
  EXPECT_TRUE(report.was_interrupted);
  EXPECT_GT(report.calls.front().rule_way().milliseconds, 0);
}

TEST(Tune, LeavesWhatItsTimeDoesNotReach) {
  device::Device& device = testing::device();
  if (device.info().backend == device::Backend::Cpu) GTEST_SKIP() << "the CPU has nothing to tune";
  const TrainSettings step = small_step();
  const TuneReport report = tune(device, {&step, 1}, {}, 1e-9, [](std::string_view) {}, [] { return false; });
  EXPECT_TRUE(report.calls.empty());
  EXPECT_GT(report.left, 0);
  EXPECT_FALSE(report.was_interrupted);
}

}  // namespace
}  // namespace athanor::train
