// Exit codes, help, and what happens when the reader of stdout goes away.
#include "cli/cli.h"

#include <gtest/gtest.h>

#include <algorithm>

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
