// A batch in tokens becomes rows and micro-batches that fit.
#include "train/batch_size.h"

#include "base/expect_error.h"
#include "device/device.h"
#include "test_device.h"
#include "train/memory_plan.h"

namespace athanor::train {
namespace {

TrainSettings settings_of(int64_t batch_tokens) {
  TrainSettings settings;
  settings.model_config = {300, 64, 96, 2, 2, 2, 32, 64};
  settings.max_length = 64;
  settings.batch_tokens = batch_tokens;
  settings.per_device_train_batch_size = 0;
  settings.gradient_accumulation_steps = 0;
  return settings;
}

std::unique_ptr<device::Device> device_with(int64_t memory_bytes) {
  device::DeviceOptions options = testing::device_options();
  options.memory_bytes = memory_bytes;
  return device::open_device(options);
}

TEST(PickBatch, TakesWholeRowsAndWritesDownWhatTheyMake) {
  TrainSettings settings = settings_of(1000);
  pick_batch(testing::device(), settings, 0);
  EXPECT_EQ(settings.per_device_train_batch_size, 16);  // 15.6 rows
  EXPECT_EQ(settings.gradient_accumulation_steps, 1);
  EXPECT_EQ(settings.batch_tokens, 1024);
  settings = settings_of(1);
  pick_batch(testing::device(), settings, 0);
  EXPECT_EQ(settings.batch_tokens, 64);
}

TEST(PickBatch, TakesTheLargestMicroBatchThatFitsAndAsManyAsTheBatchNeeds) {
  constexpr int64_t kMemory = 12 << 20;
  const std::unique_ptr<device::Device> device = device_with(kMemory);
  TrainSettings settings = settings_of(64 * 64);
  pick_batch(*device, settings, 0);
  EXPECT_EQ(settings.batch_tokens, 64 * 64);
  EXPECT_EQ(settings.per_device_train_batch_size * settings.gradient_accumulation_steps, 64);
  EXPECT_GT(settings.per_device_train_batch_size, 1);
  EXPECT_GT(settings.gradient_accumulation_steps, 1);
  EXPECT_TRUE(plan_memory(*device, settings).fits(0.9));
  settings.per_device_train_batch_size *= 2;
  EXPECT_FALSE(plan_memory(*device, settings).fits(0.9)) << "twice as many rows fit too";

  TrainSettings odd = settings_of(61 * 64);  // a prime number of rows cannot be cut evenly
  pick_batch(*device, odd, 0);
  const int64_t rows = odd.per_device_train_batch_size * odd.gradient_accumulation_steps;
  EXPECT_GE(rows, 61);
  EXPECT_LT(rows, 61 + odd.gradient_accumulation_steps);
  EXPECT_EQ(odd.batch_tokens, rows * 64);
}

TEST(PickBatch, KeepsWhatIsSaidAndFillsTheRest) {
  TrainSettings settings = settings_of(1024);
  settings.per_device_train_batch_size = 4;
  pick_batch(testing::device(), settings, 0);
  EXPECT_EQ(settings.gradient_accumulation_steps, 4);
  settings = settings_of(1024);
  settings.gradient_accumulation_steps = 8;
  pick_batch(testing::device(), settings, 0);
  EXPECT_EQ(settings.per_device_train_batch_size, 2);
  pick_batch(testing::device(), settings, 0);  // as a config.yaml has it
  EXPECT_EQ(settings.batch_tokens, 1024);
  settings.batch_tokens = 1000;
  EXPECT_ERROR(pick_batch(testing::device(), settings, 0),
               "batch_tokens 1000 are not per_device_train_batch_size 2 x gradient_accumulation_steps 8 x max_length "
               "64 = 1024; leave one of them out");
}

TEST(PickBatch, WithoutTokensChangesNothing) {
  TrainSettings settings = settings_of(0);
  settings.per_device_train_batch_size = 3;
  settings.gradient_accumulation_steps = 2;
  EXPECT_EQ(rows_of_step(settings), 6);
  pick_batch(testing::device(), settings, 0);
  EXPECT_EQ(settings.batch_tokens, 0);
  EXPECT_EQ(rows_of_step(settings), 6);
}

}  // namespace
}  // namespace athanor::train
