// train --resume: what does not fit the run is named by its setting.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/test_folder.h"
#include "cli/exit_codes.h"
#include "cli/run_for_test.h"

namespace athanor::cli {
namespace {

class TrainCommand : public ::testing::Test {
 protected:
  Outcome train(const std::vector<std::string>& more) const {
    std::vector<std::string> line = {"train", "-o", (folder_ / "run").string(), "--device", "cpu", "--threads", "1"};
    line.insert(line.end(), more.begin(), more.end());
    return run_line(line);
  }
  Outcome begin(const std::vector<std::string>& more = {}) const {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "the quick brown fox jumps over the lazy dog\n";
    std::vector<std::string> line = {folder_.put("a.txt", text).string(),
                                     "--max-steps",
                                     "1",
                                     "--vocab-size",
                                     "270",
                                     "--model-config.hidden-size",
                                     "32",
                                     "--model-config.num-hidden-layers",
                                     "1",
                                     "--model-config.num-attention-heads",
                                     "2",
                                     "--max-length",
                                     "16",
                                     "--per-device-train-batch-size",
                                     "2",
                                     "--sample-tokens",
                                     "0"};
    line.insert(line.end(), more.begin(), more.end());
    return train(line);
  }
  void begin_run(const std::vector<std::string>& more = {}) const {
    const Outcome begun = begin(more);
    ASSERT_EQ(begun.code, kDone) << begun.err;
    EXPECT_NE(begun.out.find("1 step of training lies in "), std::string::npos) << begun.out;
  }
  /// A table of choices with one answer.
  std::string put_table(const std::string& name, const std::string& take) const {
    return folder_
        .put(name, R"({"version": 1, "adapter": "a", "driver": "d", "library": "l", "shaders": "s", "choices": [
                      {"kernel": "matmul", "what": "parts", "sizes": [8, 8, 8], "take": )" +
                       take + "}]}")
        .string();
  }
  std::filesystem::path run() const { return folder_ / "run"; }
  std::string text_of(const std::filesystem::path& path) const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TestFolder folder_;
};

TEST_F(TrainCommand, ResumingAnotherModelNamesTheSettingThatDiffers) {
  begin_run();
  const std::vector<std::vector<std::string>> changed = {
      {"--model-config.hidden-size", "64", "model_config.hidden_size is 64 but ", "was begun with 32"},
      {"--model-config.num-hidden-layers", "2", "model_config.num_hidden_layers is 2 but ", "was begun with 1"},
      {"--model-config.num-key-value-heads", "1", "model_config.num_key_value_heads is 1 but ", "was begun with 2"},
      {"--model-config.tie-word-embeddings", "true", "model_config.tie_word_embeddings is true but ",
       "was begun with false"}};
  for (const std::vector<std::string>& change : changed) {
    const Outcome outcome = train({"--resume", "--max-steps", "2", change[0], change[1]});
    EXPECT_EQ(outcome.code, kFailed);
    EXPECT_TRUE(is_one_error_line(outcome.err)) << outcome.err;
    EXPECT_NE(outcome.err.find(change[2]), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(change[3]), std::string::npos) << outcome.err;
  }
}

TEST_F(TrainCommand, ResumesWithTheSameSizesOrSizesLeftOpen) {
  begin_run();
  const Outcome outcome = train({"--resume", "--max-steps", "2", "--model-config.hidden-size", "32",
                                 "--model-config.num-key-value-heads", "0", "--model-config.head-dim", "0"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_NE(outcome.out.find("2 steps of training lie in "), std::string::npos) << outcome.out;
}

TEST_F(TrainCommand, RemovesAnUnfinishedCheckpointOfAnEndedProcessWithoutAWord) {
  begin_run();
  const auto unfinished = folder_ / "run/.checkpoint-2.partial-999999999";
  std::filesystem::create_directories(unfinished);
  const Outcome outcome = train({"--resume", "--max-steps", "2"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(outcome.err.find("partial"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(unfinished));
}

void expect_error(const Outcome& outcome, const std::vector<std::string>& words) {
  EXPECT_EQ(outcome.code, kFailed) << outcome.err;
  EXPECT_TRUE(is_one_error_line(outcome.err)) << outcome.err;
  for (const std::string& word : words) EXPECT_NE(outcome.err.find(word), std::string::npos) << word << outcome.err;
}

TEST_F(TrainCommand, ATableOfChoicesThatIsNotThereIsRefusedBeforeTheRun) {
  expect_error(begin({"--choices", (folder_ / "nothere").string()}), {"nothere"});
  expect_error(begin({"--choices", folder_.put("odd.json", "{").string()}), {"odd.json: is no JSON"});
  EXPECT_FALSE(std::filesystem::exists(run()));
}

TEST_F(TrainCommand, ARunKeepsTheTableThatItBeganWith) {
  begin_run({"--choices", put_table("table.json", "2")});
  EXPECT_NE(text_of(run() / "config.yaml").find("\nchoices: choices.json\n"), std::string::npos);
  const std::string kept = text_of(run() / "choices.json");
  expect_error(train({"--resume", "--max-steps", "2", "--choices", (folder_ / "nothere").string()}), {"nothere"});
  for (const std::string& other : {put_table("other.json", "3"), std::string("none")})
    expect_error(train({"--resume", "--max-steps", "2", "--choices", other}),
                 {"uses it to its end, but the settings say choices: " + other, "another folder (-o)"});
  EXPECT_EQ(train({"--resume", "--max-steps", "2", "--choices", put_table("same.json", "2")}).code, kDone);
  EXPECT_EQ(train({"--resume", "--max-steps", "3"}).code, kDone);
  EXPECT_EQ(text_of(run() / "choices.json"), kept);
}

TEST_F(TrainCommand, ACopiedRunTakesItsOwnTableAndNotTheOriginals) {
  begin_run({"--choices", put_table("table.json", "2")});
  const std::filesystem::path copy = folder_ / "copy";
  std::filesystem::copy(run(), copy, std::filesystem::copy_options::recursive);
  put_table("run/choices.json", "3");  // what becomes of the original does not matter
  const auto again = [&](const std::string& name) {
    return run_line({"train", (copy / "config.yaml").string(), "-o", (folder_ / name).string()});
  };
  EXPECT_EQ(again("again").code, kDone);
  EXPECT_EQ(text_of(folder_ / "again" / "choices.json"), text_of(copy / "choices.json"));
  std::filesystem::remove(copy / "choices.json");
  expect_error(again("without"), {(copy / "choices.json").string()});
  const std::vector<std::string> resume = {"train", "--resume", "-o", copy.string(), "--max-steps", "2"};
  expect_error(run_line(resume), {"choices.json: the table of choices that the run began with is missing", "none"});
  std::vector<std::string> without = resume;
  without.insert(without.end(), {"--choices", "none"});
  EXPECT_EQ(run_line(without).code, kDone);
  EXPECT_NE(text_of(copy / "config.yaml").find("\nchoices: none\n"), std::string::npos);
  EXPECT_EQ(run_line(resume).code, kDone);
}

TEST_F(TrainCommand, ResumingInTheRunsOwnFolderLeavesASettingThatNamesNoTable) {
  begin_run();
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(run());
  const Outcome outcome = run_line({"train", "--resume", "-o", ".", "--max-steps", "2"});
  std::filesystem::current_path(before);
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_NE(text_of(run() / "config.yaml").find("\nchoices: \"\"\n"), std::string::npos);
  EXPECT_EQ(train({"--resume", "--max-steps", "3"}).code, kDone);
}

TEST_F(TrainCommand, ARunOfAnOlderVersionTakesItsOwnFilesWhereverItsConfigNamesThem) {
  begin_run({"--choices", put_table("table.json", "2")});
  std::string config = text_of(run() / "config.yaml");
  const std::string line = "\nchoices: choices.json\n";
  config.replace(config.find(line), line.size(), "\nchoices: runs/gone/choices.json\n");
  folder_.put("run/config.yaml", config);
  EXPECT_EQ(train({"--resume", "--max-steps", "2"}).code, kDone);
}

TEST_F(TrainCommand, ABeginningRunReplacesNoTableThatLiesInItsFolder) {
  std::filesystem::create_directory(run());
  put_table("run/choices.json", "3");
  const std::string before = text_of(run() / "choices.json");
  expect_error(begin({"--choices", put_table("table.json", "2")}), {"is there already and is another table"});
  EXPECT_EQ(text_of(run() / "choices.json"), before);
  EXPECT_FALSE(std::filesystem::exists(run() / "config.yaml"));
}

}  // namespace
}  // namespace athanor::cli
