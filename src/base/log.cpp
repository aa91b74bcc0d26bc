// The only file that sees spdlog. A line is the text alone; warnings, errors and debug lines carry their level before
// it.
#include "base/log.h"

#ifndef SPDLOG_HEADER_ONLY
#define SPDLOG_HEADER_ONLY
#endif
#ifndef SPDLOG_FMT_EXTERNAL
#define SPDLOG_FMT_EXTERNAL
#endif
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <cstdlib>

#include "base/host.h"
#include "base/printable.h"

namespace athanor {
namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::Debug:
      return spdlog::level::debug;
    case LogLevel::Info:
      return spdlog::level::info;
    case LogLevel::Warning:
      return spdlog::level::warn;
    case LogLevel::Error:
      return spdlog::level::err;
    case LogLevel::Off:
      break;
  }
  return spdlog::level::off;
}

/// "warning: " and the like; nothing for Info. Only the word is coloured.
class LevelWord : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& line) override {
    std::string_view word;
    if (message.level == spdlog::level::debug) word = "debug: ";
    if (message.level == spdlog::level::warn) word = "warning: ";
    if (message.level == spdlog::level::err) word = "error: ";
    message.color_range_start = line.size();
    line.append(word.data(), word.data() + word.size());
    message.color_range_end = line.size();
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<LevelWord>(); }
};

std::shared_ptr<spdlog::logger> make_logger() {
  const char* no_color = std::getenv("NO_COLOR");
  const bool has_colors = stderr_is_terminal() && (no_color == nullptr || *no_color == '\0');
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(has_colors ? spdlog::color_mode::automatic
                                                                               : spdlog::color_mode::never);
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<LevelWord>('*').set_pattern("%*%v");
  sink->set_formatter(std::move(formatter));
  auto logger = std::make_shared<spdlog::logger>("athanor", std::move(sink));
  logger->set_level(spdlog::level::info);
  logger->flush_on(spdlog::level::trace);
  return logger;
}

spdlog::logger& the_logger() {
  static const std::shared_ptr<spdlog::logger> logger = make_logger();
  return *logger;
}

}  // namespace

void set_log_level(LogLevel level) { the_logger().set_level(spdlog_level(level)); }

void log_line(LogLevel level, std::string_view text) {
  if (level != LogLevel::Off) the_logger().log(spdlog_level(level), printable(text));
}

}  // namespace athanor
