// What the process ends with. A number outside the range of its option is a failure like any other bad value, whether it came from the
// command line, the environment or a file; text that is no number at all makes a command line that cannot be understood.
#pragma once

namespace athanor::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;         // "error: ..." says why
inline constexpr int kNotUnderstood = 2;  // the command line
inline constexpr int kInterrupted = 130;  // 128 + SIGINT, as shells tell it

/// Thrown by a command that ends with a code of its own, after it has said why.
struct Exit {
  int code = kDone;
};

}  // namespace athanor::cli
