// How a product is cut into dispatches. Sizes and the adapter's limits alone decide, so that every run computes the same bits.
#pragma once

#include "kernels/matmul/matmul_product.h"

namespace athanor::kernels {

// A dispatch is at most this long: 0.2 s at 0.35 TFLOP/s, which integrated GPUs reach; at a tenth of that it still ends
// within the two seconds that Windows waits. A large GPU takes 1 ms or more for it, beside which another dispatch (4
// us) costs nothing.
inline constexpr double kMostFlops = 7e10;

// One workgroup adds up at most so many terms of matmul_at in a dispatch: 8192 FLOP each, 2 GFLOP, on a share of an
// adapter that does perhaps 10 GFLOP/s. Rows beyond are a further dispatch that adds to the first.
inline constexpr int64_t kMostTerms = 1 << 18;

/// What bounds one dispatch, and the tile that the adapter does best with.
struct SplitLimits {
  int64_t binding_bytes = 0;
  int64_t workgroups = 0;  // of one dimension of a grid
  double flops = kMostFlops;
  int64_t wide_tiles = 0;  // in f32: 128 x 128 values a workgroup where there are at least so many of them; 0: never
};

/// Which kernel a product gets.
enum class Form {
  Tiles,          // 64 x 64 values a workgroup; long sums over a small Y may be cut into parts
  PortableTiles,  // the same, but nothing that the portable form cannot do where it can be avoided
  FewRows,        // up to kFewRows rows
  MatrixUnits,    // 128 x 128 values a workgroup on the matrix units, f16 factors; parts likewise
};

/// Rows, columns and terms of the largest piece that one dispatch takes. Pieces begin at multiples of 64 (of 128 in the kernels
/// _w16), so that every operand's range begins at a multiple of 256 bytes. Cut are, in this order of preference: rows of X and Y (of X
/// and B in X^T B), which the portable form can take as they lie, rows of W, and last what makes rows lie further apart than they are
/// long. A piece of one unit that is still too large is left to the stream, which refuses it with both sizes.
Extents piece_of(const ProductKernel& kernel, const Extents& size, const SplitLimits& limits, Form form);

/// The operands whose rows lie further apart than they are long in such pieces, and how far. All of them share one distance, since
/// one word travels: otherwise Error.
struct Strides {
  bool x = false;
  bool w = false;
  bool y = false;
  int64_t distance = 0;  // in values; 0 if there is none
};
Strides strides_of(const ProductCall& call, const Extents& piece, const SplitLimits& limits);

/// The piece of a call that begins at `from`: ranges of its operands, and an addition where earlier terms were written.
ProductCall piece_at(const ProductCall& call, const Extents& from, const Extents& piece);

/// Parts into which the sums of a product may be cut: each has 64 terms and more, and what they write first fits a binding, and 64 MiB.
int64_t most_parts(const Extents& size, const SplitLimits& limits);
/// Parts into which the sums of a product are cut: 1 if the tiles alone keep an adapter busy, or if the sums are short.
int64_t parts_of(int64_t tiles, int64_t sum);
/// The same for tiles of 128 x 128 on the matrix units.
int64_t parts_on_matrix_units(int64_t tiles, int64_t sum);

}  // namespace athanor::kernels
