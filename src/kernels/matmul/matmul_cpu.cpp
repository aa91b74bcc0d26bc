// The matrix products for the CPU device: the result is cut into tiles that the workers share, each tile one
// single-threaded product. The cut follows from the sizes alone, so results do not depend on the number of threads.
#include "device/cpu/blas.h"
#include "device/cpu/simd.h"
#include "kernels/matmul/matmul_few_rows_cpu.h"
#include "kernels/matmul/matmul_internal.h"
#include "kernels/matmul/matmul_operands_cpu.h"

#include <algorithm>

namespace athanor::kernels {

using device::cpu::CpuStream;
using device::cpu::data;
using device::cpu::sgemm;
using device::cpu::Transpose;

namespace {

/// A result of rows x columns cut into tiles of tile_rows x tile_columns; those at the edge are smaller.
struct Tiling {
  int64_t rows;
  int64_t columns;
  int64_t tile_rows;
  int64_t tile_columns;
  int64_t count() const { return ceil_div(rows, tile_rows) * ceil_div(columns, tile_columns); }
};

// A tile below 2 MFLOP (about 20 us) costs more to hand out than it saves. Up to 8 tiles are made to keep a few workers
// busy, up to 64 while each is over 32 MFLOP (0.3 ms). OpenBLAS 0.3.34 on a Xeon with AVX-512 runs tiles of 64 x 256
// and 128 x 128 with sums of 256 to 1024 within 10 % of its rate at 1024 x 1024 (one thread, 2026-11-29); 16 tiles
// instead of 8 were up to 15 % slower at 256 x 256 x 1024 and no faster elsewhere.
constexpr double kLeastTileFlops = 2e6;
constexpr double kGoodTileFlops = 32e6;
constexpr int64_t kFewTiles = 8;
constexpr int64_t kManyTiles = 64;
constexpr int64_t kTileMultiple = 16;  // whole vectors of the inner kernel
constexpr int64_t kLeastTileEdge = 32;

int64_t edge(int64_t length, int64_t parts) {
  return std::min(length, ceil_div(ceil_div(length, parts), kTileMultiple) * kTileMultiple);
}

/// How many times longer the columns of a tile may be than its rows. Tiles of the same rows compute the same part of
/// the hidden matrix in the swiglu products, so there columns are cut late.
enum class Cut : int64_t { Square = 1, WideTiles = 4 };

/// Halves the rows or the columns of the tile until there are enough tiles.
Tiling make_tiling(const Extents& size, Cut cut) {
  int64_t row_parts = 1;
  int64_t column_parts = 1;
  for (;;) {
    const Tiling tiling{size.rows, size.columns, edge(size.rows, row_parts), edge(size.columns, column_parts)};
    const int64_t count = tiling.count();
    const double tile_flops = size.flops() / static_cast<double>(count);
    const bool wants_more = (count < kFewTiles && tile_flops >= 2 * kLeastTileFlops) ||
                            (count < kManyTiles && tile_flops >= 2 * kGoodTileFlops);
    const bool rows_can = tiling.tile_rows >= 2 * kLeastTileEdge;
    const bool columns_can = tiling.tile_columns >= 2 * kLeastTileEdge;
    if (!wants_more || (!rows_can && !columns_can)) return tiling;
    const bool rows_better = tiling.tile_rows * static_cast<int64_t>(cut) >= tiling.tile_columns;
    (rows_can && (rows_better || !columns_can) ? row_parts : column_parts) *= 2;
  }
}

/// body(row, rows, column, columns, worker) for every tile.
template <typename Body>
void for_each_tile(CpuStream& stream, const Tiling& tiling, Body body) {
  const int64_t across = ceil_div(tiling.columns, tiling.tile_columns);
  stream.threads().parallel_for(tiling.count(), 1, [&](int64_t tile, int64_t, int worker) {
    const int64_t row = tile / across * tiling.tile_rows;
    const int64_t column = tile % across * tiling.tile_columns;
    body(row, std::min(tiling.tile_rows, tiling.rows - row), column,
         std::min(tiling.tile_columns, tiling.columns - column), worker);
  });
}

// Block of an operand that a worker makes: 512 x 256 floats, half a megabyte, stay in its second-level cache.
constexpr int64_t kBlockValues = 128 << 10;

/// The product by tiles. An operand that is no f32 matrix in memory is made by blocks of the sum in the worker's own memory; with two
/// f32 matrices the sum is taken whole.
void tiled_product(CpuStream& stream, const ProductCall& call) {
  const Product product = call.kernel.product;
  const LeftOperand left(call);
  const RightOperand right(call);
  float* y = data<float>(call.y);
  const float beta = call.kernel.accumulate == Accumulate::Yes ? 1.0F : 0.0F;
  const Tiling tiling = make_tiling(call.size, is_swiglu(product) ? Cut::WideTiles : Cut::Square);
  const int64_t made =
      (left.is_made() ? tiling.tile_rows : 0) + (right.is_made() ? tiling.tile_columns : 0);  // values for one term
  const int64_t step = made == 0 ? call.size.sum : std::max<int64_t>(64, kBlockValues / made);
  device::cpu::ThreadPool& threads = stream.threads();  // taken here: workers may not ask the device
  for_each_tile(stream, tiling, [&](int64_t row, int64_t rows, int64_t column, int64_t columns, int worker) {
    float* block = made == 0 ? nullptr : threads.scratch(worker, made * std::min(step, call.size.sum));
    for (int64_t term = 0; term < call.size.sum; term += step) {
      const int64_t terms = std::min(step, call.size.sum - term);
      const Panel a = left.panel(row, rows, term, terms, block);
      const Panel b = right.panel(column, columns, term, terms, left.is_made() ? block + rows * terms : block);
      sgemm(is_at(product) ? Transpose::Yes : Transpose::No, product == Product::T ? Transpose::Yes : Transpose::No,
            rows, columns, terms, a.values, a.stride, b.values, b.stride, term == 0 ? beta : 1.0F,
            y + row * call.size.columns + column, call.size.columns);
    }
  });
}

// A chunk of a product with few rows has at least 32K weights (about 10 us when they come from memory), so that a small
// matrix stays with one worker, and there are about eight chunks if the matrix has that many.
constexpr int64_t kLeastChunkWeights = 32 << 10;
constexpr int64_t kFewRowsChunks = 8;
// W as [K, N] is read in runs of up to 1024 columns, a page of memory: shorter runs of many rows have half the speed.
constexpr int64_t kColumnRun = 1024;

// Halves are widened by small blocks that stay in the cache: 16 x 1024 floats, 64 KB, or 8 x 4096, 128 KB.
constexpr int64_t kHalfRows = 16;
constexpr int64_t kHalfRowsT = 8;
constexpr int64_t kHalfTermsT = 4096;

/// A chunk of W [K, N] in f16: a few of its rows are widened, then used.
void few_rows_of_halves(const FewRows& chunk, const uint16_t* w, float* block) {
  for (int64_t i = 0; i < chunk.k; i += kHalfRows) {
    FewRows part = chunk;
    part.x = chunk.x + i;
    part.w = block;
    part.k = std::min(kHalfRows, chunk.k - i);
    part.w_stride = chunk.columns;
    part.accumulate = chunk.accumulate || i > 0;
    widen_block(w + i * chunk.w_stride, block, {part.k, part.columns}, chunk.w_stride);
    few_rows_product(part);
  }
}

/// A chunk of W [N, K] in f16, likewise.
void few_rows_of_halves_t(const FewRows& chunk, const uint16_t* w, float* block) {
  for (int64_t column = 0; column < chunk.columns; column += kHalfRowsT) {
    for (int64_t i = 0; i < chunk.k; i += kHalfTermsT) {
      FewRows part = chunk;
      part.x = chunk.x + i;
      part.w = block;
      part.y = chunk.y + column;
      part.columns = std::min(kHalfRowsT, chunk.columns - column);
      part.k = std::min(kHalfTermsT, chunk.k - i);
      part.w_stride = part.k;
      part.accumulate = chunk.accumulate || i > 0;
      widen_block(w + column * chunk.w_stride + i, block, {part.columns, part.k}, chunk.w_stride);
      few_rows_product_t(part);
    }
  }
}

/// Reads W [K, N] in chunks of whole rows (or long runs of them): each makes its own partial sums, which are added in
/// order.
void few_rows(CpuStream& stream, const float* x, const ProductCall& call) {
  const int64_t m = call.size.rows;
  const int64_t n = call.size.columns;
  const int64_t k = call.size.sum;
  const void* w = device::cpu::raw_data(call.w);
  float* y = data<float>(call.y);
  const bool half = call.kernel.dtype == DType::F16;
  const bool accumulate = call.kernel.accumulate == Accumulate::Yes;
  const int64_t runs = ceil_div(n, kColumnRun);
  const int64_t most_parts = std::max<int64_t>(1, k * n / kLeastChunkWeights);
  const int64_t length = ceil_div(ceil_div(k, std::clamp<int64_t>(kFewRowsChunks / runs, 1, most_parts)), 4) * 4;
  const int64_t parts = ceil_div(k, length);
  const Buffer partial = parts > 1 ? stream.device().allocate(parts * m * n * 4, "matmul partial sums") : Buffer();
  float* sums = partial ? data<float>(partial) : y;
  device::cpu::ThreadPool& threads = stream.threads();  // taken here: workers may not ask the device
  threads.parallel_for(parts * runs, 1, [&](int64_t chunk, int64_t, int worker) {
    const int64_t part = chunk / runs;
    const int64_t column = chunk % runs * kColumnRun;
    const int64_t i = part * length;
    FewRows work{.x = x + i,
                 .w = nullptr,
                 .y = sums + part * m * n + column,
                 .rows = m,
                 .columns = std::min(kColumnRun, n - column),
                 .k = std::min(length, k - i),
                 .x_stride = k,
                 .w_stride = n,
                 .y_stride = n,
                 .accumulate = parts == 1 && accumulate};
    if (half) {
      const uint16_t* halves = static_cast<const uint16_t*>(w) + i * n + column;
      few_rows_of_halves(work, halves, threads.scratch(worker, kHalfRows * kColumnRun));
    } else {
      work.w = static_cast<const float*>(w) + i * n + column;
      few_rows_product(work);
    }
  });
  if (parts > 1) sum_parts(sums, y, parts, m * n, accumulate);
}

void few_rows_t(CpuStream& stream, const ProductCall& call) {
  const int64_t n = call.size.columns;
  const int64_t k = call.size.sum;
  const float* x = data<float>(call.x);
  const void* w = device::cpu::raw_data(call.w);
  float* y = data<float>(call.y);
  const bool half = call.kernel.dtype == DType::F16;
  const int64_t least = ceil_div(kLeastChunkWeights, k);
  const int64_t most = std::max(least, ceil_div(kFewRowsChunks * kLeastChunkWeights, k));
  const int64_t chunk = ceil_div(std::clamp(ceil_div(n, kFewRowsChunks), least, most), 8) * 8;
  device::cpu::ThreadPool& threads = stream.threads();  // taken here: workers may not ask the device
  threads.parallel_for(n, chunk, [&](int64_t begin, int64_t end, int worker) {
    FewRows work{.x = x,
                 .w = nullptr,
                 .y = y + begin,
                 .rows = call.size.rows,
                 .columns = end - begin,
                 .k = k,
                 .x_stride = k,
                 .w_stride = k,
                 .y_stride = n,
                 .accumulate = call.kernel.accumulate == Accumulate::Yes};
    if (half) {
      const uint16_t* halves = static_cast<const uint16_t*>(w) + begin * k;
      few_rows_of_halves_t(work, halves, threads.scratch(worker, kHalfRowsT * kHalfTermsT));
    } else {
      work.w = static_cast<const float*>(w) + begin * k;
      few_rows_product_t(work);
    }
  });
}

}  // namespace

void product_cpu(CpuStream& stream, const ProductCall& call) {
  const Product product = call.kernel.product;
  if (is_at(product) || call.size.rows > kFewRows) return tiled_product(stream, call);
  if (product == Product::T) return few_rows_t(stream, call);
  if (product == Product::Plain) return few_rows(stream, data<float>(call.x), call);
  // A few rows of the hidden matrix are no matrix: every chunk of columns needs all of them, so they are made once.
  const Matrix size = x_matrix(product, call.size);
  const Buffer hidden = stream.device().allocate(matrix_bytes(size, DType::F32), "matmul_swiglu_a hidden rows");
  hidden_block(data<float>(call.x), data<float>(call.up), data<float>(hidden), size, size.columns);
  few_rows(stream, data<float>(hidden), call);
}

}  // namespace athanor::kernels
