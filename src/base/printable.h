// Names and values that others wrote, on their way to a terminal.
#pragma once

#include <string>
#include <string_view>

namespace athanor {

/// The text with control characters written out, ESC as "\x1b" and C1's as "\u009b", so that it cannot steer a terminal. Newlines, tabs and
/// the carriage return before a newline stay. Other bytes, UTF-8 or not, stay as they are.
std::string printable(std::string_view text);

}  // namespace athanor
