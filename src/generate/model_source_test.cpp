// Which checkpoint is chosen, and what is refused.
#include "generate/model_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/expect_error.h"
#include "base/hash.h"
#include "base/test_folder.h"
#include "generate/test_model.h"
#include "test_device.h"

namespace athanor::generate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A run with checkpoints 10, 20, 30 and 100; `latest` names 100.
class FindModel : public ::testing::Test {
 protected:
  FindModel() {
    add(10, R"({"step": 10, "val_loss": 3.0})");
    add(20, R"({"step": 20, "val_loss": 2.5})");
    add(30, R"({"step": 30, "val_loss": 2.5})");
    add(100, R"({"step": 100, "val_loss": null})");
    run_.put("latest", "checkpoint-100\n");
    run_.put("metrics.jsonl", "");
  }
  void add(int step, std::string_view state) {
    const std::string name = "checkpoint-" + std::to_string(step);
    std::filesystem::create_directory(run_ / name);
    run_.put(name + "/trainer_state.json", state);
  }
  void put_state(int step, std::string_view state) {
    run_.put("checkpoint-" + std::to_string(step) + "/trainer_state.json", state);
  }

  TestFolder run_;
};

TEST_F(FindModel, TakesTheBestByValidationLossAndOfEqualOnesTheLater) {
  for (const char* which : {"", "best"}) {
    const ModelSource source = find_model(run_.path(), which);
    EXPECT_EQ(source.step, 30);
    EXPECT_EQ(source.val_loss, 2.5);
    EXPECT_EQ(source.folder, run_ / "checkpoint-30");
    EXPECT_EQ(source.reason, "best by val_loss of 4 checkpoints");
  }
}

TEST_F(FindModel, TakesTheLatestOrAStepWhenAsked) {
  EXPECT_EQ(find_model(run_.path(), "latest").step, 100);
  EXPECT_EQ(find_model(run_.path(), "20").step, 20);
  EXPECT_ERROR(find_model(run_.path(), "7"), "has no checkpoint of step 7; there are: 10, 20, 30, 100");
  for (const char* wrong : {"last", "-1", "2x", "99999999999999999999"}) {
    EXPECT_ERROR(find_model(run_.path(), wrong), "pass best, latest or a step");
  }
}

TEST_F(FindModel, TakesTheLatestWhenNoneWasEvaluated) {
  for (const int step : {10, 20, 30}) put_state(step, "{}");
  EXPECT_EQ(find_model(run_.path()).step, 100);
  run_.put("latest", "checkpoint-20");
  EXPECT_EQ(find_model(run_.path()).step, 20);
  std::filesystem::remove(run_ / "latest");
  EXPECT_EQ(find_model(run_.path()).step, 100);
}

TEST_F(FindModel, PassesOverADamagedState) {
  put_state(30, "{\"val_loss\": 2.");
  EXPECT_EQ(find_model(run_.path()).step, 20);
  put_state(20, "{\"val_loss\": \"2\"}");
  EXPECT_EQ(find_model(run_.path()).step, 10);
  put_state(10, "[]");
  EXPECT_EQ(find_model(run_.path()).step, 100);
}

TEST_F(FindModel, LatestCannotLeadOutOfTheRun) {
  TestFolder elsewhere;
  std::filesystem::create_directory(elsewhere / "checkpoint-5");
  for (const std::string& text :
       {(elsewhere / "checkpoint-5").string(), std::string("../checkpoint-5"), std::string("checkpoint-5"),
        std::string("checkpoint-"), std::string(), std::string(100000, 'x')}) {
    run_.put("latest", text);
    EXPECT_ERROR(find_model(run_.path(), "latest"),
                 "which is no checkpoint of this run; pass --checkpoint with one that is there: 10, 20");
  }
}

TEST_F(FindModel, ACheckpointIsAModelOfItsOwn) {
  run_.put("checkpoint-20/config.json", "{}");
  const ModelSource source = find_model(run_ / "checkpoint-20");
  EXPECT_EQ(source.folder, run_ / "checkpoint-20");
  EXPECT_FALSE(source.step.has_value());
  EXPECT_ERROR(find_model(run_ / "checkpoint-20", "best"), "is a model, not a run");
}

TEST_F(FindModel, OtherFoldersAndFilesAreNoCheckpoints) {
  std::filesystem::create_directory(run_ / "checkpoint-7b");
  std::filesystem::create_directory(run_ / "checkpoint--5");
  run_.put("checkpoint-500", "a file");
  EXPECT_EQ(find_model(run_.path()).reason, "best by val_loss of 4 checkpoints");
}

TEST(FindModelWithoutARun, SaysWhatToDo) {
  TestFolder folder;
  EXPECT_ERROR(find_model(folder / "none"), "no such folder; pass a model folder, a run or a checkpoint");
  EXPECT_ERROR(find_model(folder.put("model.gguf", "GGUF")), "is a file");
  EXPECT_ERROR(find_model(folder.path()), "holds neither a model (config.json) nor a run's checkpoints");
  folder.put("config.yaml", "");
  EXPECT_ERROR(find_model(folder.path()), "train it until its first checkpoint");
}

class LoadModel : public ::testing::Test {
 protected:
  LoadModel() { save_test_model(testing::stream(), folder_.path()); }
  LoadedModel load() { return load_model(testing::stream(), find_model(folder_.path())); }
  TestFolder folder_;
};

TEST_F(LoadModel, ReadsModelTokenizerAndWhereATextEnds) {
  LoadedModel loaded = load();
  EXPECT_EQ(loaded.model.config().hidden_size, 36);
  EXPECT_EQ(loaded.tokenizer.vocab_size(), 257);
  EXPECT_THAT(loaded.end_tokens, ElementsAre(256U));
  EXPECT_THAT(loaded.leading_tokens, IsEmpty());
  folder_.put("generation_config.json", R"({"eos_token_id": [3, 256, 4]})");
  EXPECT_THAT(load().end_tokens, ElementsAre(3U, 4U, 256U));
  folder_.put("generation_config.json", R"({"eos_token_id": 257})");
  EXPECT_ERROR(load(), "token ids lie between 0 and 256");
  folder_.put("generation_config.json", "not JSON");
  EXPECT_ERROR(load(), "generation_config.json: not a JSON object");
}

TEST_F(LoadModel, PutsTheBeginOfTextFirstWhenItsFilesAskForIt) {
  folder_.put("tokenizer_config.json", R"({"add_bos_token": true, "bos_token": {"content": "<|endoftext|>"}})");
  EXPECT_THAT(load().leading_tokens, ElementsAre(256U));
  folder_.put("tokenizer_config.json", R"({"add_bos_token": false, "bos_token": "<|endoftext|>"})");
  EXPECT_THAT(load().leading_tokens, IsEmpty());
}

TEST_F(LoadModel, RefusesAFileThatIsNotAsTheTrainerLeftIt) {
  const std::string hash = hash_file(folder_ / "model.safetensors");
  folder_.put("trainer_state.json",
              R"({"files": {"model.safetensors": ")" + hash + R"(", "optimizer.safetensors": "not read"}})");
  EXPECT_NO_THROW(load());
  std::string bytes = TestFolder::read(folder_ / "model.safetensors");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  folder_.put("model.safetensors", bytes);
  EXPECT_ERROR(load(), "model.safetensors: is truncated or altered");
  std::filesystem::remove(folder_ / "model.safetensors");
  EXPECT_ERROR(load(), "model.safetensors: is missing from the checkpoint");
}

TEST_F(LoadModel, RefusesAFolderWithoutItsTokenizer) {
  std::filesystem::remove(folder_ / "tokenizer.json");
  EXPECT_ERROR(load(), "tokenizer.json: is missing");
}

TEST_F(LoadModel, RefusesTheTokenizerOfALargerModel) {
  nn::LlamaConfig config = test_config();
  config.vocab_size = 256;
  nn::save_model(testing::stream(), test_model(testing::stream(), config), folder_.path());
  EXPECT_ERROR(load(), "has 257 ids but config.json gives the model 256");
}

}  // namespace
}  // namespace athanor::generate
