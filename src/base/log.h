// Log lines on stderr through spdlog; colours off for a pipe or NO_COLOR. The progress line goes to a sink that cli
// gives.
#pragma once

#include <fmt/core.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace athanor {

enum class LogLevel { Debug, Info, Warning, Error, Off };

void set_log_level(LogLevel level);
void log_line(LogLevel level, std::string_view text);

template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::Info, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::Warning, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::Debug, fmt::format(format, std::forward<Args>(args)...));
}

/// Receives the text of the current progress line; an empty text ends it.
using ProgressSink = std::function<void(std::string_view)>;

}  // namespace athanor
