// Curves in a terminal.
#pragma once

#include <string>
#include <vector>

namespace athanor::cli {

struct Curve {
  std::string name;
  char mark = '*';
  std::vector<std::pair<double, double>> points;  // x and y
};

/// A chart of `width` columns and `height` lines with y values at the left, x values below and a legend. Where several points of a curve fall
/// into a column their mean is drawn; later curves lie over earlier ones. The highest part of a curve that only a few columns reach, as a
/// loss in its first steps, is cut off and said. Empty without points.
std::string text_chart(const std::vector<Curve>& curves, int width, int height);

}  // namespace athanor::cli
