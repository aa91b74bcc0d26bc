// The plan against a run that is really made, and the refusal of one that does not fit.
#include "train/memory_plan.h"

#include "base/host.h"
#include "base/test_folder.h"
#include "test_device.h"
#include "train/session.h"
#include "train/time_plan.h"

#include <fmt/format.h>

namespace athanor::train {
namespace {

class MemoryPlanTest : public ::testing::Test {
 protected:
  /// A run that evaluates with a rest, samples and saves.
  TrainSettings settings() const {
    TrainSettings settings;
    std::string text;
    for (int i = 0; i < 900; ++i)
      text += fmt::format("{} bottles of beer on the wall, {} of beer. ", i * 7 % 100, i % 13);
    settings.data = {folder_.put("text.txt", text).string()};
    settings.output_dir = (folder_ / "run").string();
    settings.vocab_size = 300;
    settings.validation_split = 0.2;
    settings.model_config.hidden_size = 64;
    settings.model_config.num_hidden_layers = 2;
    settings.model_config.num_attention_heads = 2;
    settings.model_config.max_position_embeddings = 48;
    settings.per_device_train_batch_size = 5;
    settings.max_steps = 4;
    settings.eval_steps = 2;
    settings.save_steps = 3;
    settings.sample_tokens = 5;
    settings.device = testing::device_options().name;
    return settings;
  }

  static DeviceOpener opener(int64_t memory_bytes = 0) {
    return [memory_bytes](device::DeviceOptions options) {
      options.memory_bytes = memory_bytes;
      return device::open_device(options);
    };
  }

  TestFolder folder_;
};

TEST_F(MemoryPlanTest, IsWhatTheDeviceHoldsInARun) {
  TrainSettings settings = this->settings();
  const TrainResult result = train(settings, Resume::No, {}, opener());
  const std::unique_ptr<device::Device> device = opener()(testing::device_options());
  const TestFolder tokens;
  const PreparedData data = prepare_data(settings, RunFolder(tokens.path()));
  resolve_settings(*device, settings, data);
  const data::Loader loader(data.tokens, loader_options(settings, data));
  ASSERT_NE(loader.validation_blocks() % settings.per_device_train_batch_size, 0)
      << "the last evaluation batch is full";
  const MemoryPlan plan = plan_memory(*device, settings, loader.validation_blocks());
  EXPECT_NEAR(static_cast<double>(plan.device_bytes), static_cast<double>(result.device_peak_bytes),
              0.02 * static_cast<double>(result.device_peak_bytes));
  int64_t kinds = 0;
  for (const MemoryKind& kind : plan.kinds) kinds += kind.bytes;
  EXPECT_EQ(kinds, plan.in_use_bytes);
  EXPECT_EQ(plan.device_bytes, plan.in_use_bytes + plan.pool_bytes + plan.staging_bytes);
  EXPECT_LE(plan.touched_bytes, plan.device_bytes);
  EXPECT_GE(plan.kinds[0].bytes, settings.model_config.num_weights() * 4);
  EXPECT_GE(plan.kinds[2].bytes, settings.model_config.num_weights() * 8);
  EXPECT_EQ(device->memory().peak_bytes, 0) << "planning made buffers";
}

TEST_F(MemoryPlanTest, ARunThatDoesNotFitIsRefusedBeforeAnythingIsWrittenWithWhatFits) {
  TrainSettings settings = this->settings();
  settings.per_device_train_batch_size = 512;
  constexpr int64_t kMemory = 24 << 20;
  std::string message;
  try {
    train(settings, Resume::No, {}, opener(kMemory));
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_NE(message.find("the run needs"), std::string::npos) << message;
  EXPECT_NE(message.find("24.0 MiB"), std::string::npos) << message;
  EXPECT_FALSE(std::filesystem::exists(settings.output_dir));
  const size_t at = message.find("--per-device-train-batch-size ");
  ASSERT_NE(at, std::string::npos) << message;
  settings.per_device_train_batch_size = std::stol(message.substr(at + 30));
  EXPECT_GT(settings.per_device_train_batch_size, 1);
  settings.max_steps = 2;
  EXPECT_EQ(train(settings, Resume::No, {}, opener(kMemory)).step, 2);
  settings.output_dir += "-larger";
  settings.per_device_train_batch_size += 1;
  EXPECT_THROW(train(settings, Resume::No, {}, opener(kMemory)), Error);
  settings.per_device_train_batch_size = 1;
  EXPECT_THROW(train(settings, Resume::No, {}, opener(1 << 20)), Error);
}

TEST_F(MemoryPlanTest, TheTimeOfARunIsTheSumOfItsParts) {
  TrainSettings settings = this->settings();
  const std::unique_ptr<device::Device> device = opener()(testing::device_options());
  const TestFolder tokens;
  resolve_settings(*device, settings, prepare_data(settings, RunFolder(tokens.path())));
  settings.max_steps = 10;
  settings.eval_steps = 4;
  settings.save_steps = 5;
  const TimePlan plan = plan_time(*device, settings, 7, 0.05);
  EXPECT_EQ(plan.evaluations, 3);  // at 4, 8 and 10
  EXPECT_EQ(plan.checkpoints, 2);
  EXPECT_EQ(plan.samples, 3);
  EXPECT_GT(plan.measured_steps, 0);
  EXPECT_GT(plan.seconds_per_evaluation, 0);
  EXPECT_GT(plan.mfu, 0);
  EXPECT_NEAR(plan.seconds,
              10 * plan.seconds_per_step + 3 * plan.seconds_per_evaluation + 3 * plan.seconds_per_sample +
                  2 * plan.seconds_per_checkpoint,
              1e-9);
  EXPECT_THROW(plan_time(*device, settings, 7, 0), Error);
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(MemoryPlanTest, FreedMemoryIsNoneThatARunFinds) {
  const std::unique_ptr<device::Device> device = opener()(testing::device_options());
  const int64_t before = host_base_bytes(*device);
  constexpr int64_t kFreed = 100 << 20;
  constexpr int64_t kPart = 64 << 10;  // small enough to stay with the C library
  std::vector<std::vector<char>> parts;
  for (int64_t i = 0; i < kFreed / kPart; ++i) parts.emplace_back(kPart, 'x');
  ASSERT_GT(anonymous_resident_bytes(), before + kFreed / 2);
  const std::vector<char> kept = std::move(parts.back());  // above all that is freed
  parts.clear();
  ASSERT_GT(anonymous_resident_bytes(), before + kFreed / 2);
  EXPECT_LT(host_base_bytes(*device), before + kFreed / 10);
}
#endif

}  // namespace
}  // namespace athanor::train
