// The trace is JSON with one bar a launch, in order, of the steps that were asked for.
#include "train/step_profile.h"

#include <nlohmann/json.hpp>

#include <map>

#include "base/expect_error.h"
#include "base/test_folder.h"
#include "test_device.h"
#include "train/random_step.h"

namespace athanor::train {
namespace {

using nlohmann::json;

TrainSettings small_settings() {
  TrainSettings settings;
  settings.model_config = {64, 32, 64, 2, 2, 1, 0, 16};
  settings.model_config.complete("test");
  settings.max_length = 16;
  settings.per_device_train_batch_size = 2;
  return settings;
}

TEST(StepProfile, HasABarForEveryLaunchOfTheProfiledSteps) {
  const TestFolder folder;
  device::Stream& stream = testing::stream();
  RandomStep step(stream, small_settings());
  StepProfile profile(folder / "trace.json", 3, 2);
  for (int64_t number = 1; number <= 6; ++number) {
    profile.before_step(stream, number);
    step.run();
    profile.after_step(stream, number);
  }
  step.wait();
  const json trace = json::parse(TestFolder::read(folder / "trace.json"));
  double end = 0;
  std::map<std::string, int> kernels;
  std::vector<std::string> steps;
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "M") continue;
    ASSERT_EQ(event.at("ph"), "X");
    if (event.at("tid") == 1) {
      steps.push_back(event.at("name"));
      EXPECT_GT(event.at("args").at("launches"), 20);
      continue;
    }
    EXPECT_NEAR(event.at("ts").get<double>(), end, 1e-6 * end);
    end = event.at("ts").get<double>() + event.at("dur").get<double>();
    kernels[event.at("name")] += 1;
  }
  EXPECT_EQ(steps, (std::vector<std::string>{"step 3", "step 4"}));
  EXPECT_EQ(kernels.at("adamw_update"), 4);  // hidden matrices and the rest, in two steps
  EXPECT_GT(end, 0);
}

TEST(StepProfile, ARunThatEndsEarlyWritesWhatItHasAndNoneWritesNothing) {
  const TestFolder folder;
  device::Stream& stream = testing::stream();
  RandomStep step(stream, small_settings());
  StepProfile profile(folder / "trace.json", 1, 5);
  profile.before_step(stream, 1);
  step.run();
  profile.after_step(stream, 1);
  EXPECT_EQ(folder.num_entries(), 0);
  profile.finish(stream);
  EXPECT_EQ(json::parse(TestFolder::read(folder / "trace.json"))["traceEvents"][3]["ph"], "X");
  EXPECT_ERROR(StepProfile::check_is_new(folder / "trace.json"), "is there already");
  EXPECT_ERROR(StepProfile::check_is_new(folder / "nosuch" / "trace.json"), "there is no folder");
  StepProfile again(folder / "trace.json", 1, 1);  // made meanwhile: it is left alone
  const std::string before = TestFolder::read(folder / "trace.json");
  again.before_step(stream, 1);
  step.run();
  again.after_step(stream, 1);
  EXPECT_EQ(TestFolder::read(folder / "trace.json"), before);
  StepProfile none("", 1, 5);
  none.before_step(stream, 1);
  step.run();
  none.after_step(stream, 1);
  none.finish(stream);
  step.wait();
  EXPECT_EQ(folder.num_entries(), 1);
}

}  // namespace
}  // namespace athanor::train
