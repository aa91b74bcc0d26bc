// Escape sequences of ECMA-48 and the DEC terminals, which every terminal since follows.
#include "cli/progress.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/host.h"
#include "base/printable.h"

namespace athanor::cli {

namespace {

class ProgressLine {
 public:
  explicit ProgressLine(ProgressStyle style) : style_(std::move(style)) {
    if (!style_.write) {
      style_.write = [](std::string_view text) {
        // Progress that nobody reads is not worth an error.
        std::fwrite(text.data(), 1, text.size(), stderr);
        std::fflush(stderr);
      };
    }
    if (!style_.clock) style_.clock = now_seconds;
  }

  void show(std::string_view said) {
    const std::string text = printable(said);
    if (text.empty()) {
      end();
    } else if (style_.redraws) {
      // Back to the start, erase, and no wrapping while the text is drawn: what is too long is cut by the terminal.
      style_.write(fmt::format("\r\x1b[K\x1b[?7l{}\x1b[?7h", text));
      is_open_ = true;
    } else {
      show_plain(text);
    }
  }

 private:
  void show_plain(const std::string& text) {
    const double now = style_.clock();
    if (has_shown_ && now - last_shown_ < style_.plain_interval_seconds) {
      pending_ = text;
      return;
    }
    style_.write(fmt::format("{}\n", text));
    has_shown_ = true;
    last_shown_ = now;
    pending_.clear();
  }

  void end() {
    if (is_open_) style_.write(style_.erases_at_end ? "\r\x1b[K" : "\n");
    if (!pending_.empty()) style_.write(pending_ + "\n");
    is_open_ = false;
    has_shown_ = false;
    pending_.clear();
  }

  ProgressStyle style_;
  bool is_open_ = false;  // the cursor stands behind a line that is redrawn
  bool has_shown_ = false;
  double last_shown_ = 0;
  std::string pending_;  // came too early to be shown
};

bool terminal_can_redraw() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool is_plain = no_color != nullptr && *no_color != '\0';
  const bool is_dumb = term != nullptr && std::string_view(term) == "dumb";
  return stderr_is_terminal() && !is_plain && !is_dumb;
}

}  // namespace

ProgressSink make_progress_sink(ProgressStyle style) {
  return [line = std::make_shared<ProgressLine>(std::move(style))](std::string_view text) { line->show(text); };
}

ProgressSink make_progress_sink(bool is_quiet, double plain_interval_seconds) {
  if (is_quiet) return [](std::string_view) {};
  ProgressStyle style;
  style.redraws = terminal_can_redraw();
  style.plain_interval_seconds = plain_interval_seconds;
  return make_progress_sink(std::move(style));
}

ProgressSink make_passing_progress_sink(bool is_quiet) {
  if (is_quiet || !terminal_can_redraw()) return [](std::string_view) {};
  ProgressStyle style;
  style.redraws = true;
  style.erases_at_end = true;
  return make_progress_sink(std::move(style));
}

}  // namespace athanor::cli
