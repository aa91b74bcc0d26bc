// The C library's buffer does the joining; errors appear when it is handed on.
#include "cli/output.h"

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/error.h"
#include "cli/exit_codes.h"

namespace athanor::cli {

namespace {

[[noreturn]] void refuse(int error) {
  if (error == EPIPE) throw Exit{kDone};
  fail("standard output: {}", std::generic_category().message(error));
}

}  // namespace

void write_output(std::string_view bytes) {
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) refuse(errno);
}

void flush_output() {
  errno = 0;
  if (std::fflush(stdout) != 0) refuse(errno);
}

}  // namespace athanor::cli
