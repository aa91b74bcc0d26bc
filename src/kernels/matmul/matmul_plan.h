// How a product is cut into dispatches: rectangles of workgroups, each bounded in time and in both dimensions of the
// grid.
#pragma once

#include <cstdint>
#include <vector>

namespace athanor::kernels {

/// width * height workgroups in the order of their numbers, the first being number `first`.
struct Rectangle {
  int64_t first = 0;
  int64_t width = 1;
  int64_t height = 1;
  bool operator==(const Rectangle&) const = default;
};

/// Rectangles that cover the workgroups 0 to groups - 1 exactly: rows of `across` where they fit, no dimension over
/// `limit`, no rectangle over `most` workgroups. Exactly, since a workgroup too many would add its product twice.
std::vector<Rectangle> cover(int64_t groups, int64_t across, int64_t limit, int64_t most);

/// Parts into which the sums of a product are cut: 1 if the tiles alone keep an adapter busy, or if the sums are short.
int64_t parts_of(int64_t tiles, int64_t sum);

// A dispatch is at most this long: 0.2 s at 0.35 TFLOP/s, which integrated GPUs reach; at a tenth of that it still ends
// within the two seconds that Windows waits. A large GPU takes 1 ms or more for it, beside which another dispatch (4
// us) costs nothing.
inline constexpr double kMostFlops = 7e10;

// One workgroup adds up at most so many terms of matmul_at in a dispatch: 8192 FLOP each, 2 GFLOP, on a share of an
// adapter that does perhaps 10 GFLOP/s. Rows beyond are a further dispatch that adds to the first. Also bounds the
// parts' indices.
inline constexpr int64_t kMostTerms = 1 << 18;

}  // namespace athanor::kernels
