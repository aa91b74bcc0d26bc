// Several runs beside each other, as `athanor show` prints them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "train/run_summary.h"

namespace athanor::cli {

/// The columns of a comparison: a name, and a value of each run. What does not fit the terminal beside each other follows below, with the
/// names again.
class ComparisonTable {
 public:
  explicit ComparisonTable(const std::vector<train::RunSummary>& runs) : runs_(runs) {}

  template <typename TextOf>
  void add(const std::string& name, const TextOf& text_of) {
    std::vector<std::string> values;
    for (const train::RunSummary& run : runs_) values.push_back(text_of(run));
    rows_.emplace_back(name, std::move(values));
  }

  /// On standard output, in lines of at most so many columns.
  void print(int columns) const;

 private:
  void print_part(size_t begin, size_t end, size_t name_width, size_t width) const;

  const std::vector<train::RunSummary>& runs_;
  std::vector<std::pair<std::string, std::vector<std::string>>> rows_;
};

}  // namespace athanor::cli
