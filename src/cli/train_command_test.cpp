// train --resume: what does not fit the run is named by its setting.
#include <gtest/gtest.h>

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
  void begin_run() const {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "the quick brown fox jumps over the lazy dog\n";
    const Outcome begun = train({folder_.put("a.txt", text).string(), "--max-steps", "1", "--vocab-size", "270",
                                 "--model-config.hidden-size", "32", "--model-config.num-hidden-layers", "1",
                                 "--model-config.num-attention-heads", "2", "--max-length", "16",
                                 "--per-device-train-batch-size", "2", "--sample-tokens", "0"});
    ASSERT_EQ(begun.code, kDone) << begun.err;
    EXPECT_NE(begun.out.find("1 step of training lies in "), std::string::npos) << begun.out;
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

}  // namespace
}  // namespace athanor::cli
