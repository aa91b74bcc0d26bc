// Widths are those of the longest, within what a terminal has.
#include "cli/comparison_table.h"

#include <algorithm>

#include "cli/output.h"

namespace athanor::cli {

namespace {

constexpr int kNarrowest = 32;
constexpr size_t kLeastValue = 12;
constexpr size_t kWidest = 18;
constexpr size_t kGap = 2;

}  // namespace

void ComparisonTable::print(int columns) const {
  const auto left = static_cast<size_t>(std::max(columns, kNarrowest)) - 1;
  size_t name_width = 0;
  size_t width = 1;
  for (const auto& [name, values] : rows_) {
    name_width = std::max(name_width, name.size());
    for (const std::string& value : values) width = std::max(width, value.size());
  }
  // A value of a run has its place beside the name, however narrow the terminal is.
  name_width = std::min(name_width, left - kGap - kLeastValue);
  width = std::min({width, kWidest, left - kGap - name_width});
  const size_t at_once = (left - name_width) / (width + kGap);
  for (size_t begin = 0; begin < runs_.size(); begin += at_once) {
    if (begin > 0) cli::print("\n");
    print_part(begin, std::min(runs_.size(), begin + at_once), name_width, width);
  }
}

void ComparisonTable::print_part(size_t begin, size_t end, size_t name_width, size_t width) const {
  for (const auto& [name, values] : rows_) {
    // The end of a long name says more than its beginning.
    std::string line = fmt::format("{:<{}}", name.substr(name.size() - std::min(name.size(), name_width)), name_width);
    for (size_t i = begin; i < end; ++i)
      line += fmt::format("{:{}}{:>{}}", "", kGap, values[i].substr(0, width), width);
    cli::print("{}\n", line);
  }
}

}  // namespace athanor::cli
