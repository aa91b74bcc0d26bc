// Results on stdout. Every command prints through here, so that a reader that went away (`athanor ... | head`) ends the command quietly.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/printable.h"

namespace athanor::cli {

/// Writes the bytes as they are. Throws Exit{kDone} when the reader is gone, Error with the system's reason for anything else.
void write_output(std::string_view bytes);
/// Hands what was written to the reader now; text that comes in pieces needs it. Throws as write_output does.
void flush_output();

/// write_output of formatted text for people: control characters in it are written out (base/printable.h).
template <typename... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  write_output(printable(fmt::format(format, std::forward<Args>(args)...)));
}

}  // namespace athanor::cli
