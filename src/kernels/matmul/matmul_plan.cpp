// The cut of a product into dispatches.
#include "kernels/matmul/matmul_plan.h"

#include "base/error.h"

#include <algorithm>
#include <limits>

namespace athanor::kernels {

namespace {

constexpr int64_t kTile = 64;

// A range of terms of matmul_at reads and writes Y once more. With 512 terms that is 8 bytes for 1024 FLOP, a few percent of the time on
// an adapter whose memory gives 1 byte for 10 FLOP; with fewer, Y is cut instead.
constexpr int64_t kLeastTerms = 512;

constexpr int64_t kMostParts = 32;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Length of equal pieces of an extent, none over `most`, at multiples of `unit`; at least one unit.
int64_t piece_length(int64_t extent, double most, int64_t unit) {
  if (static_cast<double>(extent) <= most) return extent;
  const int64_t longest = std::max<int64_t>(1, static_cast<int64_t>(most / static_cast<double>(unit))) * unit;
  return ceil_div(ceil_div(extent, ceil_div(extent, longest)), unit) * unit;
}

/// How many rows of an operand fit a binding.
double rows_that_fit(const SplitLimits& limits, int64_t row_length, DType dtype) {
  return static_cast<double>(limits.binding_bytes / (row_length * size_of(dtype)));
}

/// How many of one extent a dispatch may take in time, if it takes `each` FLOP for one.
double in_time(const SplitLimits& limits, int64_t a, int64_t b) {
  return limits.flops / (2.0 * static_cast<double>(a) * static_cast<double>(b));
}

Extents piece_of_at(const ProductKernel& kernel, const Extents& size, const SplitLimits& limits, Form form,
                    int64_t unit, double grid) {
  Extents piece = size;
  piece.columns = piece_length(size.columns, grid, unit);
  piece.rows = piece_length(size.rows, std::min(grid, rows_that_fit(limits, size.columns, DType::F32)), unit);
  const double least = static_cast<double>(form == Form::PortableTiles ? unit : kLeastTerms);
  const double most = std::min({static_cast<double>(kMostTerms), rows_that_fit(limits, size.rows, x_type(kernel)),
                                rows_that_fit(limits, size.columns, DType::F32),
                                std::max(least, in_time(limits, piece.rows, piece.columns))});
  piece.sum = piece_length(size.sum, most, unit);
  if (form != Form::PortableTiles) {
    piece.rows = std::min(piece.rows, piece_length(size.rows, in_time(limits, piece.columns, piece.sum), unit));
  }
  return piece;
}

}  // namespace

Extents piece_of(const ProductKernel& kernel, const Extents& size, const SplitLimits& limits, Form form) {
  const int64_t unit = kernel.dtype == DType::F16 ? 2 * kTile : kTile;
  // The grid of a few rows folds.
  const double grid = form == Form::FewRows ? std::numeric_limits<double>::max()
                                            : static_cast<double>(std::max<int64_t>(limits.workgroups * kTile, unit));
  if (is_at(kernel.product)) return piece_of_at(kernel, size, limits, form, unit, grid);

  Extents piece = size;
  const double w_rows = rows_that_fit(limits, w_matrix(kernel.product, size).columns, w_type(kernel));
  if (kernel.product == Product::T) {
    piece.columns = piece_length(size.columns, std::min(grid, w_rows), unit);
  } else {
    piece.columns = piece_length(size.columns, grid, unit);
    piece.sum = piece_length(size.sum, w_rows, unit);
  }
  const double x_rows = rows_that_fit(limits, size.sum, DType::F32);
  const double y_rows = rows_that_fit(limits, size.columns, DType::F32);
  piece.rows =
      piece_length(size.rows, std::min({grid, x_rows, y_rows, in_time(limits, piece.columns, piece.sum)}), unit);
  // Sixty-four rows are too long only with weights of more than 2 GB.
  if (kernel.product == Product::T) {
    piece.columns = std::min(piece.columns, piece_length(size.columns, in_time(limits, piece.rows, piece.sum), unit));
  } else {
    piece.sum = std::min(piece.sum, piece_length(size.sum, in_time(limits, piece.rows, piece.columns), unit));
  }
  return piece;
}

Strides strides_of(const ProductCall& call, const Extents& piece, const SplitLimits& limits) {
  const Product product = call.kernel.product;
  const int64_t x_row = x_matrix(product, call.size).columns;
  const int64_t w_row = w_matrix(product, call.size).columns;
  Strides strides;
  strides.x = x_matrix(product, piece).columns < x_row;
  strides.w = w_matrix(product, piece).columns < w_row;
  strides.y = piece.columns < call.size.columns;
  strides.distance = strides.x ? x_row : (strides.w ? w_row : (strides.y ? call.size.columns : 0));
  check(
      (!strides.w || strides.distance == w_row) && (!strides.y || strides.distance == call.size.columns),
      "{}: {} columns are more than a grid of {} workgroups takes, and its operands of {}, {} and {} bytes more than a "
      "binding of {}; split it into products of fewer columns",
      name_of(call.kernel), call.size.columns, limits.workgroups, call.x.size_bytes(), call.w.size_bytes(),
      call.y.size_bytes(), limits.binding_bytes);
  return strides;
}

namespace {

/// The range of a buffer that holds a part of a matrix, from its first value to its last.
device::Buffer range_of(const device::Buffer& buffer, const Matrix& whole, const Matrix& from, const Matrix& part,
                        DType dtype) {
  if (!buffer) return {};
  const int64_t begin = (from.rows * whole.columns + from.columns) * size_of(dtype);
  const int64_t values = (part.rows - 1) * whole.columns + part.columns;
  return buffer.slice(begin, matrix_bytes({1, values}, dtype));
}

}  // namespace

ProductCall piece_at(const ProductCall& call, const Extents& from, const Extents& piece) {
  const Product product = call.kernel.product;
  const Extents size{std::min(piece.rows, call.size.rows - from.rows),
                     std::min(piece.columns, call.size.columns - from.columns),
                     std::min(piece.sum, call.size.sum - from.sum)};
  const auto x_range = [&](const device::Buffer& buffer) {
    return range_of(buffer, x_matrix(product, call.size), x_matrix(product, from), x_matrix(product, size),
                    x_type(call.kernel));
  };
  ProductCall part = call;
  part.x = x_range(call.x);
  part.up = x_range(call.up);
  part.size = size;
  part.w = range_of(call.w, w_matrix(product, call.size), w_matrix(product, from), w_matrix(product, size),
                    w_type(call.kernel));
  part.y = range_of(call.y, y_matrix(call.size), y_matrix(from), y_matrix(size), DType::F32);
  if (from.sum > 0) part.kernel.accumulate = Accumulate::Yes;
  return part;
}

int64_t most_parts(const Extents& size, const SplitLimits& limits) {
  constexpr int64_t kLeastPart = 64;
  constexpr int64_t kMostBytes = 64 << 20;
  const int64_t y_bytes = matrix_bytes(y_matrix(size), DType::F32);
  return std::max<int64_t>(1, std::min({kMostParts, size.sum / kLeastPart, limits.workgroups,
                                        std::min(kMostBytes, limits.binding_bytes) / y_bytes}));
}

int64_t parts_of(int64_t tiles, int64_t sum) {
  // A large GPU runs about 500 of these workgroups at once; a part of fewer than 256 terms is not worth the second
  // pass.
  constexpr int64_t kBusy = 512;
  constexpr int64_t kLeastPart = 256;
  return std::max<int64_t>(1, std::min({kBusy / tiles, sum / kLeastPart, kMostParts}));
}

int64_t parts_on_matrix_units(int64_t tiles, int64_t sum) {
  // A large GPU runs 264 of these workgroups at once, two on each of 132 processors, so parts come in rounds of 264. Estimated in
  // terms of a round's sums, some 29 ns each on an H200: a round takes 256 more to begin and to write its tiles; the launch that adds the
  // parts up takes 300, and one for every two tiles that it reads. `athanor tune` found no number faster there (2026-12-01).
  constexpr int64_t kAtOnce = 264;
  constexpr int64_t kLeastPart = 512;
  constexpr int64_t kRound = 256;
  constexpr int64_t kAddition = 300;
  const auto time_of = [&](int64_t parts) {
    return ceil_div(tiles * parts, kAtOnce) * (ceil_div(sum, parts) + kRound) +
           (parts > 1 ? kAddition + tiles * parts / 2 : 0);
  };
  int64_t best = 1;
  for (int64_t parts = 2; parts <= std::min(sum / kLeastPart, kMostParts); ++parts) {
    if (time_of(parts) < time_of(best)) best = parts;
  }
  return best;
}

}  // namespace athanor::kernels
