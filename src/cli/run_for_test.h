// Runs a command line in this process and keeps what it prints. For the tests of commands.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/log.h"
#include "cli/cli.h"

namespace athanor::cli {

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

inline Outcome run_line(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv = {"athanor"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.code = run(static_cast<int>(argv.size()), argv.data());
  outcome.out = ::testing::internal::GetCapturedStdout();
  outcome.err = ::testing::internal::GetCapturedStderr();
  set_log_level(LogLevel::Info);  // -q and -v of one line must not reach the next
  return outcome;
}

/// "error: ..." and nothing else on its line.
inline bool is_one_error_line(const std::string& err) {
  const size_t begin = err.find("error: ");
  return begin != std::string::npos && (begin == 0 || err[begin - 1] == '\n') &&
         err.find('\n', begin) == err.size() - 1;
}

}  // namespace athanor::cli
