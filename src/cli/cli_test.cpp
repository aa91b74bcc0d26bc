// Exit codes, help, and what happens when the reader of stdout goes away.
#include "cli/cli.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/test_folder.h"
#include "cli/exit_codes.h"
#include "cli/run_for_test.h"

#ifndef _WIN32
#include <unistd.h>
#endif

namespace athanor::cli {
namespace {

TEST(CommandLine, ALineThatCannotBeUnderstoodGivesTwoAndSaysWhereHelpIs) {
  const std::vector<std::vector<std::string>> lines = {{},
                                                       {"frobnicate"},
                                                       {"--frobnicate"},
                                                       {"generate"},
                                                       {"generate", "-m"},
                                                       {"generate", "-m", "x", "-n", "many"},
                                                       {"generate", "-m", "x", "--frobnicate"},
                                                       {"generate", "-m", "x", "-p", "a", "-f", "b"},
                                                       {"doctor", "extra"},
                                                       {"-q", "-v", "doctor"}};
  for (const std::vector<std::string>& line : lines) {
    const Outcome outcome = run_line(line);
    EXPECT_EQ(outcome.code, kNotUnderstood) << ::testing::PrintToString(line) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(is_one_error_line(outcome.err)) << outcome.err;
    EXPECT_NE(outcome.err.find("--help shows"), std::string::npos) << outcome.err;
  }
  EXPECT_NE(run_line({"frobnicate"}).err.find("there is no command \"frobnicate\""), std::string::npos);
}

TEST(CommandLine, ANumberOutsideItsRangeFailsWithOneWhereverItIsGiven) {
  const std::vector<std::vector<std::string>> lines = {
      {"train", "--max-steps", "-3"},
      {"train", "--learning-rate", "1e999"},
      {"train", "--seed", "99999999999999999999"},
      {"train", "x", "-o", "y", "--max-steps", "1", "--threads", "2000"},
      {"plan", "x", "--seconds", "0"},
      {"plan", "x", "--depth", "65"},
      {"data", "show", "x", "--rows", "-1"},
      {"bench", "train", "--steps", "0"},
      {"tokenizer", "train", "--vocab-size", "-5", "-o", "z", "/dev/null"},
      {"generate", "-m", "x", "-n", "-5"}};
  for (const std::vector<std::string>& line : lines) {
    const Outcome outcome = run_line(line);
    EXPECT_EQ(outcome.code, kFailed) << ::testing::PrintToString(line) << outcome.err;
    EXPECT_TRUE(is_one_error_line(outcome.err)) << outcome.err;
    EXPECT_EQ(outcome.err.find("--help shows"), std::string::npos) << outcome.err;
  }
}

TEST(CommandLine, AFlagOfASettingTakesOneValueAndLeavesTheDataBehindIt) {
  const TestFolder folder;
  const std::string run = (folder / "run").string();
  const Outcome outcome = run_line({"train", "-o", run, (folder / "none.txt").string(), "--max-steps", "1"});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_NE(outcome.err.find("there is no file or folder " + (folder / "none.txt").string()), std::string::npos)
      << outcome.err;
}

TEST(CommandLine, ASettingThatIsNoNumberIsNotUnderstood) {
  for (const std::vector<std::string>& line : {std::vector<std::string>{"train", "--max-steps", "many"},
                                               {"plan", "--learning-rate", "1x"},
                                               {"train", "--gradient-checkpointing", "perhaps"}}) {
    EXPECT_EQ(run_line(line).code, kNotUnderstood) << ::testing::PrintToString(line);
  }
}

TEST(CommandLine, HelpOfBenchTrainListsOnlyWhatAStepDependsOn) {
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"bench", "train", "--help"}, {"explain", "--help"}}) {
    const std::string help = run_line(line).out;
    for (const char* flag : {"--preset", "--per-device-train-batch-size", "--precision", "--model-config.hidden-size"})
      EXPECT_NE(help.find(flag), std::string::npos) << flag;
    for (const char* flag : {"--output-dir", "--save-steps", "--patience", "--data", "--minutes", "--learning-rate"})
      EXPECT_EQ(help.find(flag), std::string::npos) << flag;
  }
}

#ifndef _WIN32
TEST(CommandLine, APathThatTheSystemRefusesIsNamedWithTheReason) {
  const TestFolder folder;
  const std::string loop = (folder / "loop").string();
  std::filesystem::create_symlink(loop, loop);
  const std::string name = (folder / std::string(300, 'x')).string();
  for (const std::string& path : {loop, name}) {
    for (const std::vector<std::string>& line :
         {std::vector<std::string>{"train", path, "-o", (folder / "run").string(), "--max-steps", "1"},
          {"data", "show", path},
          {"tokenizer", "train", "--vocab-size", "300", "-o", (folder / "t").string(), path},
          {"show", path},
          {"generate", "-m", path, "-p", "x"},
          {"train", "x", "-o", path, "--max-steps", "1"}}) {
      const Outcome outcome = run_line(line);
      EXPECT_EQ(outcome.code, kFailed) << outcome.err;
      EXPECT_TRUE(is_one_error_line(outcome.err)) << outcome.err;
      EXPECT_NE(outcome.err.find(path), std::string::npos) << outcome.err;
      EXPECT_EQ(outcome.err.find("filesystem error"), std::string::npos) << outcome.err;
      EXPECT_NE(outcome.err.find("; "), std::string::npos) << outcome.err;
    }
  }
}
#endif

#ifndef _WIN32
TEST(CommandLine, AMisspeltVariableIsNamedWithTheNearestOne) {
  ::setenv("ATHANOR_MAX_STEP", "3", 1);
  ::setenv("ATHANOR_COLOUR_OF_THE_SKY", "blue", 1);
  const std::string err = run_line({"--version"}).err;
  ::unsetenv("ATHANOR_MAX_STEP");
  ::unsetenv("ATHANOR_COLOUR_OF_THE_SKY");
  EXPECT_NE(err.find("$ATHANOR_MAX_STEP is not known and says nothing; did you mean $ATHANOR_MAX_STEPS?"),
            std::string::npos)
      << err;
  EXPECT_NE(err.find("$ATHANOR_COLOUR_OF_THE_SKY is not known"), std::string::npos) << err;
  EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 2) << err;
}

TEST(CommandLine, AVariableThatSomeCommandReadsIsKnown) {
  for (const char* name : {"ATHANOR_MAX_STEPS", "ATHANOR_CTX_SIZE", "ATHANOR_MODEL_CONFIG_HIDDEN_SIZE"})
    ::setenv(name, "8", 1);
  EXPECT_EQ(run_line({"--version"}).err, "");
  for (const char* name : {"ATHANOR_MAX_STEPS", "ATHANOR_CTX_SIZE", "ATHANOR_MODEL_CONFIG_HIDDEN_SIZE"})
    ::unsetenv(name);
}
#endif

TEST(CommandLine, WhatPlanRefusesIsSaidInItsName) {
  const Outcome outcome = run_line({"plan", "x", "--depth", "65"});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_TRUE(outcome.err.starts_with("error: plan: depth is 65")) << outcome.err;
  EXPECT_TRUE(run_line({"train", "x", "-o", "y", "--depth", "65"}).err.starts_with("error: train: depth is 65"));
}

TEST(CommandLine, HelpIsOnStdoutWithAnExample) {
  Outcome outcome = run_line({"--help"});
  EXPECT_EQ(outcome.code, kDone);
  for (const char* command : {"generate", "doctor", "Example"})
    EXPECT_NE(outcome.out.find(command), std::string::npos) << command;
  for (const char* command : {"generate", "doctor"}) {
    outcome = run_line({command, "--help"});
    EXPECT_EQ(outcome.code, kDone);
    EXPECT_EQ(outcome.err, "");
    EXPECT_NE(outcome.out.find(std::string("Example:\n  athanor ") + command), std::string::npos) << outcome.out;
  }
}

TEST(CommandLine, VersionIsOnStdout) {
  const Outcome outcome = run_line({"--version"});
  EXPECT_EQ(outcome.code, kDone);
  EXPECT_EQ(outcome.out.substr(0, 8), "athanor ");
  EXPECT_GE(std::count(outcome.out.begin(), outcome.out.end(), '.'), 2) << outcome.out;
}

#ifndef _WIN32
TEST(CommandLine, AReaderThatWentAwayEndsTheCommandQuietly) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::fflush(stdout);
  const int kept = dup(STDOUT_FILENO);
  close(ends[0]);
  dup2(ends[1], STDOUT_FILENO);
  close(ends[1]);
  const char* argv[] = {"athanor", "--help"};
  ::testing::internal::CaptureStderr();
  const int code = run(2, argv);
  const std::string err = ::testing::internal::GetCapturedStderr();
  dup2(kept, STDOUT_FILENO);
  close(kept);
  std::clearerr(stdout);
  EXPECT_EQ(code, kDone);
  EXPECT_EQ(err, "");
}
#endif

}  // namespace
}  // namespace athanor::cli
