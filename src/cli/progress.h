// The progress line on stderr: redrawn in place on a terminal, plain lines now and then elsewhere.
#pragma once

#include <functional>
#include <string_view>

#include "base/log.h"

namespace athanor::cli {

/// Where progress goes and how. The defaults of write and clock are stderr and the steady clock; tests pass their own.
struct ProgressStyle {
  bool redraws = false;                // one line that is overwritten
  double plain_interval_seconds = 10;  // else: a line at most this often, and the last text when the progress ends
  bool erases_at_end = false;          // nothing stays of a line that was redrawn
  std::function<void(std::string_view)> write{};
  std::function<double()> clock{};
};

ProgressSink make_progress_sink(ProgressStyle style);

/// The sink for this process: it redraws on a terminal unless NO_COLOR is set or TERM is "dumb". Quiet: takes and shows nothing.
ProgressSink make_progress_sink(bool is_quiet, double plain_interval_seconds = 10);

/// For progress that is worth nothing afterwards: shown only where a line can be redrawn, and erased at its end.
ProgressSink make_passing_progress_sink(bool is_quiet);

}  // namespace athanor::cli
