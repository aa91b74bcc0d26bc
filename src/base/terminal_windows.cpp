// Columns from the console's window.
#ifdef _WIN32
#include "base/terminal.h"
#include "base/windows_api.h"

namespace athanor {

int terminal_columns() {
  constexpr int kUsual = 80;
  CONSOLE_SCREEN_BUFFER_INFO info{};
  if (GetConsoleScreenBufferInfo(GetStdHandle(STD_OUTPUT_HANDLE), &info) == 0) return kUsual;
  const int columns = info.srWindow.Right - info.srWindow.Left + 1;
  return columns > 0 ? columns : kUsual;
}

}  // namespace athanor
#endif
