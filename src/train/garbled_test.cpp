// What a run reads again, spoilt in every class of byte: settings, checkpoints, logs. Each is read without harm or refused in words that
// name the file, and a checkpoint that was touched anywhere is passed over.
#include "base/test_folder.h"
#include "base/test_garbled.h"
#include "generate/test_model.h"
#include "test_device.h"
#include "train/checkpoint.h"
#include "train/guard.h"
#include "train/settings.h"
#include "train/step_test.h"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

namespace athanor::train {
namespace {

using nlohmann::json;

/// Fails unless the action succeeds or throws an Error that names `path`; true when it threw.
template <typename Action>
bool is_refused(const Action& action, const std::filesystem::path& path, const std::string& change) {
  try {
    action();
    return false;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos) << change << ": " << error.what();
    return true;
  }
}

TEST(Garbled, SettingsAreReadOrRefusedInWords) {
  const TestFolder folder;
  TrainSettings settings;
  settings.data = {"plays/", "a \"quoted\" name.txt"};
  settings.data_weights = {2, 0.25};
  settings.output_dir = "runs/x";
  settings.sample_prompt = "two\nlines";
  const std::filesystem::path path = folder / "config.yaml";
  int64_t refused = 0;
  for_each_garbled(to_yaml(settings), [&](const Garbled& garbled) {
    folder.put("config.yaml", garbled.content);
    refused += is_refused(
        [&] {
          TrainSettings read;
          apply_settings_file(read, path);
          to_yaml(read);
        },
        path, garbled.change);
  });
  EXPECT_GT(refused, 100);
}

TEST(Garbled, CheckpointsArePassedOverForTheOneBefore) {
  device::Stream& stream = testing::stream();
  const TestFolder root;
  const RunFolder run(root.path());
  TestRun trained(stream, {});
  for (const int64_t step : {1, 2}) {
    trained.run(static_cast<uint64_t>(step));
    TrainerState state;
    state.step = state.applied_steps = step;
    state.guard.norms = {0.5, 1.5};
    save_checkpoint(stream, run, {trained.model, trained.step.optimizer()}, generate::byte_tokenizer(), state);
  }
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(run.checkpoint(2)))
    names.push_back(entry.path().filename().string());
  EXPECT_EQ(names.size(), 7U);
  for (const std::string& name : names) {
    const std::filesystem::path path = run.checkpoint(2) / name;
    const std::string place = "checkpoint-2/" + name;
    const std::string good = TestFolder::read(path);
    int64_t tried = 0;
    for_each_garbled(good, [&](const Garbled& garbled) {
      if (name.ends_with(".safetensors") && tried++ % 16 != 0)
        return;  // hashed whole: each change is as good as another
      root.put(place, garbled.content);
      const bool refused = is_refused([&] { read_trainer_state(run.checkpoint(2)); }, path, garbled.change);
      // Spaces between the values of JSON say nothing and may change.
      const bool says_the_same =
          name == "trainer_state.json" && !refused && json::parse(garbled.content) == json::parse(good);
      EXPECT_TRUE(refused || says_the_same) << name << ": " << garbled.change;
    });
    root.put(place, good.substr(0, good.size() / 2));
    EXPECT_EQ(find_whole_checkpoint(run)->entry.step, 1) << name;
    root.put(place, good);
  }
  EXPECT_EQ(find_whole_checkpoint(run)->entry.step, 2);
}

TEST(Garbled, LogsAndLatestLeaveTheRunWhatIsGoodOfThem) {
  const TestFolder root;
  const RunFolder run(root.path());
  for (const int64_t step : {3, 5}) std::filesystem::create_directory(run.checkpoint(step));
  for_each_garbled("checkpoint-3\n", [&](const Garbled& garbled) {
    root.put("latest", garbled.content);
    const int64_t step = run.latest()->step;
    EXPECT_TRUE(step == 3 || step == 5) << garbled.change;
  });
  const std::string line = "{\"step\":1,\"loss\":2.5,\"refused\":\"not finite\"}\n";
  for_each_garbled(line + line, [&](const Garbled& garbled) {
    root.put("metrics.jsonl", garbled.content);
    {
      const JsonLines log(run.metrics(), 1);
    }
    for (std::string kept = TestFolder::read(run.metrics()); !kept.empty(); kept.erase(0, kept.find('\n') + 1))
      EXPECT_EQ(kept.rfind("{", 0), 0U) << garbled.change;
  });
}

TEST(Garbled, StatesOfTheGuardAreReadOrRefusedInWords) {
  GuardState state;
  state.norms = {0.5, 1.5, 0.25};
  state.mean_loss = 3.25;
  state.bad_in_row = 2;
  state.first_bad_step = 17;
  for_each_garbled(state.to_json(), [&](const Garbled& garbled) {
    is_refused([&] { GuardState::from_json(garbled.content, "trainer_state.json").to_json(); }, "trainer_state.json",
               garbled.change);
  });
  for (const char* number : {"1e300", "-1", "1.5", "true", "null", "18446744073709551615"}) {
    std::string text = state.to_json();
    text.replace(text.find("17"), 2, number);
    EXPECT_TRUE(is_refused([&] { GuardState::from_json(text, "x"); }, "x", number)) << number;
  }
}

}  // namespace
}  // namespace athanor::train
