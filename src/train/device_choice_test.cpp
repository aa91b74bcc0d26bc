// What "auto" takes, with numbers for the measurement, and on a device that says it is a hardware GPU.
#include "train/device_choice.h"

#include "base/expect_error.h"
#include "base/test_folder.h"
#include "device/dry_memory.h"
#include "test_device.h"
#include "train/run_files.h"
#include "train/session.h"

#include <fmt/format.h>

#include <cmath>

namespace athanor::train {
namespace {

/// A device that says it is a hardware GPU, and runs nothing. Its memory may be small.
std::unique_ptr<device::Device> open_gpu(int64_t memory_bytes = 0, bool is_software = false) {
  device::DeviceInfo info = testing::device().info();
  info.name = "a GPU";
  info.is_software = is_software;
  if (memory_bytes > 0) info.memory_bytes = memory_bytes;
  return device::open_dry_gpu(std::move(info));
}

class DeviceChoice : public ::testing::Test {
 protected:
  TrainSettings settings() const {
    TrainSettings settings;
    std::string text;
    for (int i = 0; i < 500; ++i)
      text += fmt::format("{} bottles of beer on the wall, {} of beer. ", i * 7 % 100, i % 13);
    settings.data = {folder_.put("text.txt", text).string()};
    settings.output_dir = (folder_ / "run").string();
    settings.vocab_size = 300;
    settings.model_config.hidden_size = 32;
    settings.model_config.num_hidden_layers = 1;
    settings.model_config.num_attention_heads = 2;
    settings.model_config.max_position_embeddings = 32;
    settings.per_device_train_batch_size = 2;
    settings.max_steps = 2;
    settings.sample_tokens = 0;
    return settings;
  }

  /// "auto" gives the GPU; the CPU is opened as it is. Every opening is noted.
  DeviceOpener opener() {
    return [this](const device::DeviceOptions& options) -> std::unique_ptr<device::Device> {
      opened_.push_back(options.name);
      if (options.name == "cpu") return device::open_device(options);
      return open_gpu();
    };
  }

  /// Of each device so many seconds.
  StepMeasure seconds(double gpu, double cpu) {
    return [this, gpu, cpu](device::Device& device, const TrainSettings& resolved, double enough) {
      EXPECT_EQ(resolved.model_config.hidden_size, 32);
      EXPECT_EQ(resolved.max_length, 32) << "the settings are not resolved";
      const bool is_gpu = device.info().name == "a GPU";
      measured_.push_back(is_gpu ? "gpu" : "cpu");
      EXPECT_TRUE(is_gpu ? std::isinf(enough) : enough == gpu) << enough;
      return BriefMeasure{is_gpu ? gpu : cpu, false, 0};
    };
  }

  std::string device_of_run() const { return settings_of_run(RunFolder(settings().output_dir))->device; }

  TestFolder folder_;
  std::vector<std::string> opened_;
  std::vector<std::string> measured_;
};

TEST_F(DeviceChoice, TakesTheFasterAndWritesItDown) {
  EXPECT_EQ(train(settings(), Resume::No, {}, opener(), seconds(0.2, 0.1)).step, 2);
  EXPECT_EQ(device_of_run(), "cpu");
  EXPECT_EQ(opened_, (std::vector<std::string>{"auto", "cpu"}));
  EXPECT_EQ(measured_, (std::vector<std::string>{"gpu", "cpu"}));
}

TEST_F(DeviceChoice, AResumedRunKeepsItsDeviceUnmeasured) {
  train(settings(), Resume::No, {}, opener(), seconds(0.2, 0.1));
  TrainSettings more = *settings_of_run(RunFolder(settings().output_dir));
  more.max_steps = 3;
  opened_.clear();
  measured_.clear();
  EXPECT_EQ(train(more, Resume::Yes, {}, opener(), seconds(0.1, 0.2)).step, 3);
  EXPECT_EQ(opened_, std::vector<std::string>{"cpu"});
  EXPECT_TRUE(measured_.empty());
}

TEST_F(DeviceChoice, GivesBackTheGpuWhereItIsFaster) {
  const TestFolder tokens;
  const PreparedData data = prepare_data(settings(), RunFolder(tokens.path()));
  const auto taken = choose_device(open_gpu(), settings(), data, opener(), seconds(0.1, 0.2));
  EXPECT_EQ(taken->info().name, "a GPU");
  EXPECT_EQ(measured_, (std::vector<std::string>{"gpu", "cpu"}));
}

TEST_F(DeviceChoice, MeasuresNothingOnASoftwareAdapterAndWithShadersOfTheUser) {
  const TestFolder tokens;
  const PreparedData data = prepare_data(settings(), RunFolder(tokens.path()));
  EXPECT_EQ(choose_device(open_gpu(0, true), settings(), data, opener(), seconds(1, 2))->info().name, "a GPU");
  TrainSettings with_shader = settings();
  with_shader.kernel = {"relu=mine.wgsl"};
  EXPECT_EQ(choose_device(open_gpu(), with_shader, data, opener(), seconds(2, 1))->info().name, "a GPU");
  EXPECT_TRUE(measured_.empty());
  EXPECT_TRUE(opened_.empty());
}

TEST_F(DeviceChoice, TakesTheOneThatTheRunFits) {
  const TestFolder tokens;
  TrainSettings settings = this->settings();
  const PreparedData data = prepare_data(settings, RunFolder(tokens.path()));
  const StepMeasure measure = [](device::Device& device, const TrainSettings&, double enough) {
    EXPECT_NE(device.info().name, "a GPU");
    EXPECT_TRUE(std::isinf(enough));
    return BriefMeasure{1, false, 0};
  };
  const auto taken = choose_device(open_gpu(1 << 16), settings, data, opener(), measure);
  EXPECT_EQ(taken->info().backend, device::Backend::Cpu);
  const DeviceOpener small_cpu = [](device::DeviceOptions options) {
    options.memory_bytes = 1 << 16;
    return device::open_device(options);
  };
  EXPECT_ERROR(choose_device(open_gpu(1 << 16), settings, data, small_cpu, measure), "; and on the CPU: train: ");
}

TEST_F(DeviceChoice, TheMeasurementItselfIsShortAndStopsWhereProductsAloneTakeTooLong) {
  const TestFolder tokens;
  TrainSettings settings = this->settings();
  const PreparedData data = prepare_data(settings, RunFolder(tokens.path()));
  resolve_shape(testing::device(), settings, data, MemoryCheck::Yes);
  const BriefMeasure whole = measure_briefly(testing::device(), settings, 1e9);
  EXPECT_FALSE(whole.is_least);
  EXPECT_GT(whole.seconds, 0);
  // A step of a hundred thousand micro-batches takes no longer to measure.
  settings.gradient_accumulation_steps = 100'000;
  const BriefMeasure long_step = measure_briefly(testing::device(), settings, 1e9);
  EXPECT_GT(long_step.seconds, 100 * whole.seconds);
  EXPECT_LT(long_step.measuring_seconds, long_step.seconds);
  const BriefMeasure bound = measure_briefly(testing::device(), settings, 1e-9);
  EXPECT_TRUE(bound.is_least);
  EXPECT_GT(bound.seconds, 1e-9);
  EXPECT_LT(bound.seconds, long_step.seconds) << "products alone took longer than steps";
}

}  // namespace
}  // namespace athanor::train
