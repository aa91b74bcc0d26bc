// Columns from the terminal's driver.
#ifndef _WIN32
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/terminal.h"

namespace athanor {

int terminal_columns() {
  constexpr int kUsual = 80;
  winsize size{};
  const bool told = ::isatty(STDOUT_FILENO) == 1 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return told ? size.ws_col : kUsual;
}

}  // namespace athanor
#endif
