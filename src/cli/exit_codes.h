// What the process ends with.
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
