// Settings from files, flags and the environment; the schedule; the run folder's small files.
#include "train/settings.h"

#include "base/atomic_file.h"
#include "base/expect_error.h"
#include "base/test_folder.h"
#include "train/run_folder.h"
#include "train/schedule.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace athanor::train {
namespace {

class SettingsFile : public ::testing::Test {
 protected:
  TrainSettings read(const std::string& yaml) {
    write_file(folder_.path() / "settings.yaml", yaml);
    TrainSettings settings;
    apply_settings_file(settings, folder_.path() / "settings.yaml");
    return settings;
  }
  TestFolder folder_;
};

TEST_F(SettingsFile, IsReadWithGroupsAndLists) {
  const TrainSettings settings = read(
      "data: [plays/, \"a b.txt\"]\nmodel_config: {hidden_size: 64, tie_word_embeddings: true}\nlearning_rate: 1.0e-3\n"
      "max_steps: 20\ngradient_checkpointing: true\nvocab_size: auto\n");
  EXPECT_EQ(settings.data, (std::vector<std::string>{"plays/", "a b.txt"}));
  EXPECT_EQ(settings.model_config.hidden_size, 64);
  EXPECT_TRUE(settings.model_config.tie_word_embeddings);
  EXPECT_EQ(settings.max_steps, 20);
  EXPECT_TRUE(settings.gradient_checkpointing);
}

TEST_F(SettingsFile, GivesWeightsAsAListOrWithCommas) {
  EXPECT_EQ(read("data_weights: [2, 0.5]\n").data_weights, (std::vector<double>{2, 0.5}));
  EXPECT_EQ(read("data_weights: 2,0.5\n").data_weights, (std::vector<double>{2, 0.5}));
  EXPECT_TRUE(read("data_weights: []\n").data_weights.empty());
  EXPECT_ERROR(read("data_weights: [2, much]\n"), "data_weights: \"much\" is no value for it");
  EXPECT_ERROR(read("data_weights: 2,\n"), "data_weights: \"\" is no value for it");
}

TEST_F(SettingsFile, WrittenAsResolvedIsReadBackTheSame) {
  TrainSettings settings =
      read("data: [\"quoted \\\"name\\\" #1.txt\"]\noutput_dir: runs/x\nlearning_rate: 0.00012345678901234567\n");
  settings.data_weights = {2, 0.25};
  settings.sample_prompt = "two\nlines: \"yes\" \xF0\x9F\x98\x80";
  const std::string yaml = to_yaml(settings);
  EXPECT_EQ(to_yaml(read(yaml)), yaml);
  EXPECT_EQ(read(yaml).sample_prompt, settings.sample_prompt);
  EXPECT_EQ(read(yaml).learning_rate, settings.learning_rate);
}

TEST_F(SettingsFile, RefusesAnUnknownKeyAndNamesTheNearest) {
  EXPECT_ERROR(read("max_step: 3\n"), "unknown key max_step; did you mean max_steps?");
  EXPECT_ERROR(read("model_config: {hiden_size: 3}\n"), "did you mean model_config.hidden_size?");
  EXPECT_ERROR(read("colour: red\n"), "unknown key colour");
}

TEST_F(SettingsFile, RefusesValuesOfTheWrongKind) {
  EXPECT_ERROR(read("max_steps: many\n"), "max_steps: \"many\" is no value for it; give a whole number");
  EXPECT_ERROR(read("max_steps: -3\n"), "line 1: max_steps: -3 is outside its range; give a whole number from 0");
  EXPECT_ERROR(read("max_steps: 99999999999999999999\n"), "outside its range");
  EXPECT_ERROR(read("learning_rate: .inf\n"), "learning_rate");
  EXPECT_ERROR(read("learning_rate: 1e999\n"), "learning_rate: 1e999 is outside its range");
  EXPECT_ERROR(read("max_steps: [1, 2]\n"), "max_steps takes one value");
  EXPECT_ERROR(read("- a\n- b\n"), "not a map of keys");
  EXPECT_ERROR(read("a: [1\n"), "line");
}

TEST_F(SettingsFile, RefusesAKeyThatStandsTwiceWithItsLines) {
  EXPECT_ERROR(read("max_steps: 3\nseed: 1\nmax_steps: 4\n"), "max_steps stands in lines 1 and 3; keep one of them");
  EXPECT_ERROR(read("model_config:\n  hidden_size: 64\n  hidden_size: 32\n"),
               "model_config.hidden_size stands in lines 2 and 3");
  EXPECT_ERROR(read("model_config: {hidden_size: 64}\nmodel_config: {head_dim: 32}\n"),
               "model_config stands in lines 1 and 2");
  EXPECT_ERROR(read("seed: 1\nmodel_config.hidden_size: 64\nmodel_config: {hidden_size: 32}\n"), "lines 2 and 3");
}

TEST(Settings, ThatMakeNoRunAreRefusedByKey) {
  TrainSettings settings;
  EXPECT_ERROR(settings.validate(), "no data");
  settings.data = {"x"};
  EXPECT_ERROR(settings.validate(), "no output_dir");
  settings.output_dir = "y";
  EXPECT_ERROR(settings.validate(), "neither max_steps nor minutes");
  settings.max_steps = 1;
  settings.validate();
  settings.packing = "tight";
  EXPECT_ERROR(settings.validate(), "packing is \"tight\"");
  settings.packing = "naive";
  settings.data_weights = {1, 0};
  EXPECT_ERROR(settings.validate(), "data_weights holds 0");
  settings.data_weights.clear();
  settings.lr_scheduler_type = "cosin";
  EXPECT_ERROR(settings.validate(), "lr_scheduler_type is \"cosin\"");
  settings.lr_scheduler_type = "cosine";
  settings.optim = "adam";
  EXPECT_ERROR(settings.validate(), "optim is \"adam\"");
  settings.optim = "muon";
  settings.precision = "f16";
  EXPECT_ERROR(settings.validate(), "precision is \"f16\"; known are f32 and mixed");
  settings.precision = "mixed";
  settings.guard_action = "ignore";
  EXPECT_ERROR(settings.validate(), "guard_action is \"ignore\"");
  settings.guard_action = "stop";
  settings.ema_decay = 1;
  EXPECT_ERROR(settings.validate(), "ema_decay is 1");
}

TEST_F(SettingsFile, NamesThePrecisionOfProductsAsPyTorchDoes) {
  EXPECT_EQ(TrainSettings().matmul_precision(), kernels::MatMulPrecision::Highest);
  const TrainSettings settings = read("float32_matmul_precision: medium\n");
  EXPECT_EQ(settings.matmul_precision(), kernels::MatMulPrecision::Medium);
  EXPECT_EQ(read(to_yaml(settings)).matmul_precision(), kernels::MatMulPrecision::Medium);
  EXPECT_ERROR(read("float32_matmul_precision: fast\n").matmul_precision(),
               "train: float32_matmul_precision is \"fast\"; known are highest, high and medium");
}

TEST(Schedule, WarmsUpThenFallsToTheRatio) {
  TrainSettings settings;
  settings.max_steps = 1000;
  settings.warmup_steps = 50;
  settings.learning_rate = 2;
  EXPECT_DOUBLE_EQ(learning_rate_at(settings, 0), 2.0 / 50);
  EXPECT_DOUBLE_EQ(learning_rate_at(settings, 49), 2);
  EXPECT_DOUBLE_EQ(learning_rate_at(settings, 50), 2);
  EXPECT_NEAR(learning_rate_at(settings, 999), 0.2, 1e-12);
  settings.lr_scheduler_type = "linear";
  EXPECT_NEAR(learning_rate_at(settings, 50 + 949 / 2), 1.1, 2e-3);
  settings.lr_scheduler_type = "constant";
  EXPECT_DOUBLE_EQ(learning_rate_at(settings, 999), 2);
}

TEST(Schedule, StaysAndThenDecaysAtItsEnd) {
  TrainSettings settings;
  settings.lr_scheduler_type = "warmup_stable_decay";
  settings.max_steps = 1000;
  settings.learning_rate = 2;
  EXPECT_EQ(stable_steps(settings), 900);
  EXPECT_DOUBLE_EQ(learning_rate_at(settings, 0), 2.0 / 50);
  EXPECT_DOUBLE_EQ(learning_rate_at(settings, 50), 2);
  EXPECT_DOUBLE_EQ(learning_rate_at(settings, 899), 2);
  EXPECT_LT(learning_rate_at(settings, 900), 2);
  EXPECT_NEAR(learning_rate_at(settings, 949), 1.1, 1e-12);
  EXPECT_NEAR(learning_rate_at(settings, 999), 0.2, 1e-12);
  settings.lr_scheduler_type = "cosine";
  EXPECT_EQ(stable_steps(settings), -1);
}

TEST(Schedule, OfALongerRunDoesNotJumpUnlessAsked) {
  TrainSettings settings;
  settings.max_steps = 2000;
  settings.learning_rate = 1;
  const std::string said = keep_schedule(settings, 1000, 1000);
  EXPECT_NE(said.find("goes on to step 2000 but the rate's schedule ends at step 1000"), std::string::npos) << said;
  EXPECT_EQ(settings.lr_scheduler_steps, 1000);
  EXPECT_NEAR(learning_rate_at(settings, 999), 0.1, 1e-12);
  EXPECT_NEAR(learning_rate_at(settings, 1000), 0.1, 1e-12);
  EXPECT_NEAR(learning_rate_at(settings, 1999), 0.1, 1e-12);
  EXPECT_EQ(keep_schedule(settings, 1000, 1500), said);  // resumed once more: the same again

  settings.lr_scheduler_steps = 2000;
  const std::string stretched = keep_schedule(settings, 1000, 1000);
  EXPECT_NE(stretched.find("spans 2000 steps from now on, 1000 before: step 1001 takes 0.568"), std::string::npos)
      << stretched;
  EXPECT_GT(learning_rate_at(settings, 1000), 0.5);
  // Nothing to say where nothing changes.
  settings.lr_scheduler_steps = 0;
  EXPECT_EQ(keep_schedule(settings, 2000, 1000), "");
  EXPECT_EQ(settings.lr_scheduler_steps, 0);
}

TEST(RunFolder, NamesItsCheckpointsInOrderAndFollowsALatestOnlyToOneOfThem) {
  const TestFolder folder;
  const RunFolder run(folder.path() / "run");
  EXPECT_FALSE(run.holds_run());
  run.create();
  EXPECT_FALSE(run.latest());
  for (const char* name : {"checkpoint-100", "checkpoint-20", "checkpoint-x", "checkpoint--1"}) {
    std::filesystem::create_directory(run.path() / name);
  }
  ASSERT_EQ(run.checkpoints().size(), 2U);
  EXPECT_EQ(run.checkpoints()[0].step, 20);
  EXPECT_EQ(run.latest()->step, 100);  // no `latest`: the newest
  run.set_latest(20);
  EXPECT_EQ(run.latest()->step, 20);
  run.set_latest(77);
  EXPECT_EQ(run.latest()->step, 100);  // the one it names was removed
  write_file(run.path() / "latest", "../elsewhere\n");
  EXPECT_EQ(run.latest()->path, run.checkpoint(100));
  write_file(run.path() / "latest", "");
  EXPECT_EQ(run.latest()->step, 100);
}

TEST(JsonLines, AreCutBackToTheStepOfTheCheckpoint) {
  const TestFolder folder;
  const std::filesystem::path path = folder.path() / "metrics.jsonl";
  write_file(path, "{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n{\"step\":");
  {
    JsonLines lines(path, 2);
    lines.append("{\"step\":3,\"again\":true}");
  }
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(text, "{\"step\":1}\n{\"step\":2}\n{\"step\":3,\"again\":true}\n");
}

}  // namespace
}  // namespace athanor::train
