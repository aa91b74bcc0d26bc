// generate from a model on disk, and what it refuses.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/test_folder.h"
#include "cli/exit_codes.h"
#include "cli/run_for_test.h"
#include "generate/test_model.h"
#include "test_device.h"

namespace athanor::cli {
namespace {

using nlohmann::json;

class GenerateCommand : public ::testing::Test {
 protected:
  GenerateCommand() { generate::save_test_model(testing::stream(), model()); }
  std::filesystem::path model() const { return folder_ / "model"; }

  Outcome generate(const std::vector<std::string>& more, const std::filesystem::path& from) const {
    std::vector<std::string> line = {"generate", "-m", from.string(), "--device", "cpu"};
    line.insert(line.end(), more.begin(), more.end());
    return run_line(line);
  }
  Outcome generate(const std::vector<std::string>& more) const { return generate(more, model()); }
  json generate_json(std::vector<std::string> more) const {
    more.emplace_back("--json");
    const Outcome outcome = generate(more);
    EXPECT_EQ(outcome.code, kDone) << outcome.err;
    return json::parse(outcome.out);
  }

  TestFolder folder_;
};

TEST_F(GenerateCommand, PrintsPromptAndTextOnStdoutAndTheRestOnStderr) {
  const Outcome outcome = generate({"-p", "ROMEO:", "-n", "12", "--temp", "0"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  const json result = generate_json({"-p", "ROMEO:", "-n", "12", "--temp", "0"});
  EXPECT_EQ(outcome.out, "ROMEO:" + result["text"].get<std::string>() + "\n");
  EXPECT_EQ(result["tokens"].size(), 12U);
  EXPECT_EQ(result["prompt_tokens"], 6);
  EXPECT_EQ(result["stop"], "max_tokens");
  for (const char* part : {"device: the CPU", "model: ", "tok/s"})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part;
  const Outcome alone = generate({"-p", "ROMEO:", "-n", "12", "--temp", "0", "--no-display-prompt", "-q"});
  EXPECT_EQ(alone.out, result["text"].get<std::string>() + "\n");
  EXPECT_EQ(alone.err, "");
}

TEST_F(GenerateCommand, TheSeedOnStderrWritesTheSameTextAgain) {
  const json drawn = generate_json({"-n", "20"});
  const std::string seed = std::to_string(drawn["seed"].get<uint64_t>());
  EXPECT_EQ(generate_json({"-n", "20", "-s", seed})["tokens"], drawn["tokens"]);
  EXPECT_NE(generate({"-n", "2", "--seed", seed}).err.find("seed: " + seed + "\n"), std::string::npos);
  EXPECT_NE(generate_json({"-n", "20", "--seed", "1"})["tokens"], generate_json({"-n", "20", "--seed", "2"})["tokens"]);
}

TEST_F(GenerateCommand, WeightsMayBeKeptInFewerBytes) {
  const json whole = generate_json({"-p", "ROMEO:", "-n", "20", "--temp", "0"});
  EXPECT_EQ(generate_json({"-p", "ROMEO:", "-n", "20", "--temp", "0", "--weight-format", "f32"})["tokens"],
            whole["tokens"]);
  for (const char* format : {"f16", "q8_0"}) {
    EXPECT_EQ(generate_json({"-p", "ROMEO:", "-n", "20", "--temp", "0", "--weight-format", format})["tokens"].size(),
              20U);
  }
  const Outcome outcome = generate({"--weight-format", "int8"});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_NE(outcome.err.find("--weight-format is \"int8\"; known are f32, f16 and q8_0"), std::string::npos);
}

TEST_F(GenerateCommand, ReadsThePromptFromAFileLessItsLastNewline) {
  const std::string file = folder_.put("prompt.txt", "ROMEO:\n").string();
  EXPECT_EQ(generate({"-f", file, "-n", "3", "--temp", "0"}).out,
            generate({"-p", "ROMEO:", "-n", "3", "--temp", "0"}).out);
}

TEST_F(GenerateCommand, SpecialTokensInThePromptArePlainTextUnlessAskedFor) {
  EXPECT_EQ(generate_json({"-p", "a<|endoftext|>", "-n", "1"})["prompt_tokens"], 14);
  EXPECT_EQ(generate_json({"-p", "a<|endoftext|>", "-n", "1", "--parse-special"})["prompt_tokens"], 2);
}

TEST_F(GenerateCommand, WithoutAPromptANewDocumentStarts) { EXPECT_EQ(generate_json({"-n", "1"})["prompt_tokens"], 1); }

TEST_F(GenerateCommand, TheEnvironmentStandsBelowTheFlags) {
  ::setenv("ATHANOR_PREDICT", "3", 1);
  const json from_environment = generate_json({"--temp", "0"});
  const json from_flag = generate_json({"--temp", "0", "-n", "5"});
  ::unsetenv("ATHANOR_PREDICT");
  EXPECT_EQ(from_environment["tokens"].size(), 3U);
  EXPECT_EQ(from_flag["tokens"].size(), 5U);
}

TEST_F(GenerateCommand, NamesTheCheckpointThatItTookFromARun) {
  for (const auto& [step, loss] : {std::pair{10, "2.5"}, {20, "3.5"}}) {
    const std::string name = fmt::format("run/checkpoint-{}", step);
    generate::save_test_model(testing::stream(), folder_ / name);
    folder_.put(name + "/trainer_state.json", fmt::format(R"({{"step": {}, "val_loss": {}}})", step, loss));
  }
  folder_.put("run/latest", "checkpoint-20\n");
  Outcome outcome = generate({"-n", "1"}, folder_ / "run");
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_NE(outcome.err.find("checkpoint 10, val_loss 2.5000 (best by val_loss of 2 checkpoints)"), std::string::npos)
      << outcome.err;
  outcome = generate({"-n", "1", "--checkpoint", "latest"}, folder_ / "run");
  EXPECT_NE(outcome.err.find("checkpoint 20"), std::string::npos) << outcome.err;
}

TEST_F(GenerateCommand, SaysThatTheContextIsFull) {
  const Outcome outcome = generate({"-p", "abcd", "-n", "-1", "-c", "8", "--temp", "0"});
  EXPECT_EQ(outcome.code, kDone);
  EXPECT_NE(outcome.err.find("warning: the text ended because the context of 8 tokens is full; the model can take 64"),
            std::string::npos)
      << outcome.err;
}

TEST_F(GenerateCommand, RefusesInOneLineWithOne) {
  const std::filesystem::path none = folder_ / "none";
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"-c", "65"}, "--ctx-size 65 is longer than the model's context of 64 tokens"},
      {{"-c", "-1"}, "--ctx-size -1"},
      {{"-p", std::string(65, 'a')}, "the prompt has 65 tokens but the context has 64"},
      {{"-p", "abcdef", "-c", "5"}, "the prompt has 6 tokens but the context has 5"},
      {{"-n", "-2"}, "-n -2"},
      {{"--temp", "-1"}, "temperature is -1"},
      {{"--top-p", "2"}, "top-p is 2"},
      {{"-f", none.string()}, none.string()},
      {{"--checkpoint", "best"}, "is a model, not a run"},
      {{"--device", "gpu"}, "there is no such device"}};
  for (const auto& [more, part] : wrong) {
    std::vector<std::string> line = {"generate", "-m", model().string()};
    if (more.front() != "--device") line.insert(line.end(), {"--device", "cpu"});
    line.insert(line.end(), more.begin(), more.end());
    const Outcome outcome = run_line(line);
    EXPECT_EQ(outcome.code, kFailed) << part;
    EXPECT_TRUE(is_one_error_line(outcome.err)) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }
  const Outcome missing = generate({}, none);
  EXPECT_EQ(missing.code, kFailed);
  EXPECT_NE(missing.err.find("none: no such folder"), std::string::npos) << missing.err;
}

}  // namespace
}  // namespace athanor::cli
