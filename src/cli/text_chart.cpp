// Plain ASCII, so that pipes and old terminals show the same.
#include "cli/text_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace athanor::cli {

namespace {

constexpr int kLabel = 9;  // columns of the y values
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  /// Halves, since the difference of two values may be no number.
  double share(double value) const { return high > low ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0.5; }
};

/// The mean of the points of each column; NaN where there is none.
std::vector<double> by_column(const Curve& curve, const Range& x, int columns) {
  std::vector<double> means(static_cast<size_t>(columns), 0);
  std::vector<int64_t> counts(means.size(), 0);
  const auto column_of = [&](double at) { return static_cast<size_t>(std::lround(x.share(at) * (columns - 1))); };
  for (const auto& [at, value] : curve.points) counts[column_of(at)] += 1;
  for (const auto& [at, value] : curve.points) {
    const size_t column = column_of(at);
    means[column] += value / static_cast<double>(counts[column]);  // a sum of large values would be infinite
  }
  for (size_t i = 0; i < means.size(); ++i) means[i] = counts[i] > 0 ? means[i] : kNone;
  return means;
}

/// Up to where the chart reaches: a twentieth of the columns may lie above.
double upper_bound(const std::vector<std::vector<double>>& curves) {
  std::vector<double> values;
  for (const std::vector<double>& curve : curves)
    std::copy_if(curve.begin(), curve.end(), std::back_inserter(values),
                 [](double value) { return !std::isnan(value); });
  std::sort(values.begin(), values.end());
  return values[values.size() - 1 - values.size() / 20];
}

}  // namespace

std::string text_chart(const std::vector<Curve>& curves, int width, int height) {
  Range x;
  for (const Curve& curve : curves) {
    for (const auto& point : curve.points) x.include(point.first);
  }
  if (x.low > x.high) return "";
  const int columns = std::max(8, width - kLabel - 2);
  std::vector<std::vector<double>> means;
  Range y;
  for (const Curve& curve : curves) {
    means.push_back(by_column(curve, x, columns));
    for (const double value : means.back()) {
      if (!std::isnan(value)) y.include(value);
    }
  }
  const double highest = y.high;
  y.high = std::max(y.low, upper_bound(means));

  std::vector<std::string> lines(static_cast<size_t>(height), std::string(static_cast<size_t>(columns), ' '));
  for (size_t c = 0; c < curves.size(); ++c) {
    for (size_t column = 0; column < means[c].size(); ++column) {
      const double value = means[c][column];
      if (std::isnan(value) || value > y.high) continue;
      const auto line = static_cast<size_t>(std::lround((1 - y.share(value)) * (height - 1)));
      lines[line][column] = curves[c].mark;
    }
  }
  std::string chart;
  for (int line = 0; line < height; ++line) {
    // Of values that are all one, the one line that they lie on.
    const bool has_label = line == height / 2 || (y.high > y.low && (line == 0 || line == height - 1));
    const double value = std::lerp(y.high, y.low, static_cast<double>(line) / std::max(1, height - 1));
    std::string& drawn = lines[static_cast<size_t>(line)];
    drawn.erase(drawn.find_last_not_of(' ') + 1);
    chart += has_label ? fmt::format("{:>{}.4g} |", value, kLabel) : fmt::format("{:>{}} |", "", kLabel);
    chart += drawn + "\n";
  }
  // A single x stands below its points, in the middle.
  const bool is_one = x.low == x.high;
  const std::string left = is_one ? std::string(static_cast<size_t>(columns / 2), ' ') : fmt::format("{:.6g}", x.low);
  const std::string right = fmt::format("{:.6g}", x.high);
  const int gap = is_one ? 0 : std::max(1, columns - static_cast<int>(left.size() + right.size()));
  chart += fmt::format("{:>{}} +{}\n", "", kLabel, std::string(static_cast<size_t>(columns), '-'));
  chart += fmt::format("{:>{}}  {}{:>{}}{}\n", "", kLabel, left, "", gap, right);
  std::string legend;
  for (const Curve& curve : curves) {
    if (!curve.points.empty()) legend += fmt::format("{}{} {}", legend.empty() ? "" : "   ", curve.mark, curve.name);
  }
  if (highest > y.high) legend += fmt::format("   (cut off above; the highest is {:.4g})", highest);
  return chart + fmt::format("{:>{}}  {}\n", "", kLabel, legend);
}

}  // namespace athanor::cli
