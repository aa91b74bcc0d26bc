// The cut of a product into dispatches; sizes alone decide.
#include "kernels/matmul/matmul_plan.h"

#include <algorithm>

namespace athanor::kernels {

std::vector<Rectangle> cover(int64_t groups, int64_t across, int64_t limit, int64_t most) {
  std::vector<Rectangle> rectangles;
  for (int64_t first = 0; first < groups;) {
    const int64_t left = std::min(groups - first, std::max<int64_t>(1, most));
    const int64_t width = std::min({left, across, limit});
    const int64_t height = std::min(left / width, limit);
    rectangles.push_back({first, width, height});
    first += width * height;
  }
  return rectangles;
}

int64_t parts_of(int64_t tiles, int64_t sum) {
  // A large GPU runs about 500 of these workgroups at once; a part of fewer than 256 terms is not worth the second
  // pass.
  constexpr int64_t kBusy = 512;
  constexpr int64_t kLeastTerms = 256;
  constexpr int64_t kMostParts = 32;
  return std::max<int64_t>(1, std::min({kBusy / tiles, sum / kLeastTerms, kMostParts}));
}

}  // namespace athanor::kernels
