// The shapes at which add, sub and mul are tried.
#include "kernels/broadcast/broadcast_cases.h"

namespace athanor::kernels {

const std::vector<BroadcastCase>& broadcast_cases() {
  static const std::vector<BroadcastCase> cases = {
      {1, 1, false},     {1, 3, false},    {1, 4, true},       {1, 63, true},
      {1, 257, false},   {1, 2006, false}, {1, 4100, true},    {1, 1024 * 768, false},  // b as large as a
      {3, 5, true},      {5, 63, false},   {63, 65, false},    {65, 257, true},
      {257, 343, false}, {33, 64, true},   {65, 4, false},     {4200, 3, false},
      {65600, 1, false}, {600, 264, true}, {1024, 768, false},
  };
  return cases;
}

const std::vector<BroadcastCase>& broadcast_halves() {
  static const std::vector<BroadcastCase> cases = {
      {1, 68, true, Wanted::OnlyA},
      {1, 65, false, Wanted::OnlyB},
      {65, 5, false, Wanted::OnlyA},
      {65, 8, true, Wanted::OnlyB},
  };
  return cases;
}

std::string name_of(const BroadcastCase& shape) {
  std::string name = shape.rows == 1 ? fmt::format("count {}", shape.columns)
                                     : fmt::format("rows {}, columns {}, b one row", shape.rows, shape.columns);
  if (shape.wanted == Wanted::OnlyA) name += ", d_a alone";
  if (shape.wanted == Wanted::OnlyB) name += ", d_b alone";
  return name;
}

}  // namespace athanor::kernels
