// The matrix products for the CPU device: the result is cut into tiles that the workers share, each tile one
// single-threaded product. The cut follows from the sizes alone, so results do not depend on the number of threads.
#include "device/cpu/blas.h"
#include "device/cpu/simd.h"
#include "kernels/matmul/matmul_few_rows_cpu.h"
#include "kernels/matmul/matmul_internal.h"

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
Tiling make_tiling(int64_t rows, int64_t columns, int64_t sum, Cut cut) {
  const double flops = 2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(sum);
  int64_t row_parts = 1;
  int64_t column_parts = 1;
  for (;;) {
    const Tiling tiling{rows, columns, edge(rows, row_parts), edge(columns, column_parts)};
    const int64_t count = tiling.count();
    const double tile_flops = flops / static_cast<double>(count);
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

float beta_of(Accumulate accumulate) { return accumulate == Accumulate::Yes ? 1.0F : 0.0F; }

// A chunk of a product with few rows has at least 32K weights (about 10 us when they come from memory), so that a small
// matrix stays with one worker, and there are about eight chunks if the matrix has that many.
constexpr int64_t kLeastChunkWeights = 32 << 10;
constexpr int64_t kFewRowsChunks = 8;
// W as [K, N] is read in runs of up to 1024 columns, a page of memory: shorter runs of many rows have half the speed.
constexpr int64_t kColumnRun = 1024;

/// Reads W [K, N] in chunks of whole rows (or long runs of them): each makes its own partial sums, which are added in
/// order.
void few_rows(CpuStream& stream, const float* x, const MatMul& args) {
  const float* w = data<float>(args.w);
  float* y = data<float>(args.y);
  const bool accumulate = args.accumulate == Accumulate::Yes;
  const int64_t runs = ceil_div(args.n, kColumnRun);
  const int64_t most_parts = std::max<int64_t>(1, args.k * args.n / kLeastChunkWeights);
  const int64_t length = ceil_div(ceil_div(args.k, std::clamp<int64_t>(kFewRowsChunks / runs, 1, most_parts)), 4) * 4;
  const int64_t parts = ceil_div(args.k, length);
  const int64_t count = args.m * args.n;
  const Buffer partial = parts > 1 ? stream.device().allocate(parts * count * 4, "matmul partial sums") : Buffer();
  float* sums = partial ? data<float>(partial) : y;
  stream.threads().parallel_for(parts * runs, 1, [&](int64_t chunk, int64_t, int) {
    const int64_t part = chunk / runs;
    const int64_t column = chunk % runs * kColumnRun;
    const int64_t i = part * length;
    few_rows_product({x + i, w + i * args.n + column, sums + part * count + column, args.m,
                      std::min(kColumnRun, args.n - column), std::min(length, args.k - i), args.k, args.n,
                      parts == 1 && accumulate});
  });
  if (parts > 1) sum_parts(sums, y, parts, count, accumulate);
}

void few_rows_t(CpuStream& stream, const MatMul& args) {
  const float* x = data<float>(args.x);
  const float* w = data<float>(args.w);
  float* y = data<float>(args.y);
  const int64_t least = ceil_div(kLeastChunkWeights, args.k);
  const int64_t most = std::max(least, ceil_div(kFewRowsChunks * kLeastChunkWeights, args.k));
  const int64_t chunk = ceil_div(std::clamp(ceil_div(args.n, kFewRowsChunks), least, most), 8) * 8;
  stream.threads().parallel_for(args.n, chunk, [&](int64_t begin, int64_t end, int) {
    few_rows_product_t({x, w + begin * args.k, y + begin, args.m, end - begin, args.k, args.k, args.n,
                        args.accumulate == Accumulate::Yes});
  });
}

ATHANOR_SIMD_CLONES
void hidden_row(const float* gate, const float* up, float* hidden, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) hidden[i] = device::cpu::silu_fast(gate[i]) * up[i];
}

/// Short runs of rows far apart are asked for a few rows ahead: 0.7 instead of 1.0 ns a value at 64 columns of 1024
/// (2026-11-29).
void prefetch_row(const float* values, int64_t columns) {
  constexpr int64_t kLineFloats = 16;
  for (int64_t c = 0; c < columns; c += kLineFloats) __builtin_prefetch(values + c);
}

/// hidden[rows, columns] = silu(gate) * up of a block of matrices whose rows are `stride` apart.
void hidden_block(const float* gate, const float* up, float* hidden, int64_t rows, int64_t columns, int64_t stride) {
  constexpr int64_t kRowsAhead = 4;
  for (int64_t row = 0; row < rows; ++row) {
    if (row + kRowsAhead < rows && columns < stride) {
      prefetch_row(gate + (row + kRowsAhead) * stride, columns);
      prefetch_row(up + (row + kRowsAhead) * stride, columns);
    }
    hidden_row(gate + row * stride, up + row * stride, hidden + row * columns, columns);
  }
}

// Block of the hidden matrix that a worker holds: 512 x 256 floats, half a megabyte, stay in its second-level cache.
constexpr int64_t kHiddenValues = 128 << 10;

}  // namespace

void matmul_cpu(CpuStream& stream, const MatMul& args) {
  const float* x = data<float>(args.x);
  if (args.m <= kFewRows) return few_rows(stream, x, args);
  const float* w = data<float>(args.w);
  float* y = data<float>(args.y);
  const Tiling tiling = make_tiling(args.m, args.n, args.k, Cut::Square);
  for_each_tile(stream, tiling, [&](int64_t row, int64_t rows, int64_t column, int64_t columns, int) {
    sgemm(Transpose::No, Transpose::No, rows, columns, args.k, x + row * args.k, args.k, w + column, args.n,
          beta_of(args.accumulate), y + row * args.n + column, args.n);
  });
}

void matmul_t_cpu(CpuStream& stream, const MatMul& args) {
  if (args.m <= kFewRows) return few_rows_t(stream, args);
  const float* x = data<float>(args.x);
  const float* w = data<float>(args.w);
  float* y = data<float>(args.y);
  const Tiling tiling = make_tiling(args.m, args.n, args.k, Cut::Square);
  for_each_tile(stream, tiling, [&](int64_t row, int64_t rows, int64_t column, int64_t columns, int) {
    sgemm(Transpose::No, Transpose::Yes, rows, columns, args.k, x + row * args.k, args.k, w + column * args.k, args.k,
          beta_of(args.accumulate), y + row * args.n + column, args.n);
  });
}

void matmul_at_cpu(CpuStream& stream, const MatMulAt& args) {
  const float* x = data<float>(args.x);
  const float* b = data<float>(args.b);
  float* y = data<float>(args.y);
  const Tiling tiling = make_tiling(args.k, args.n, args.m, Cut::Square);
  for_each_tile(stream, tiling, [&](int64_t row, int64_t rows, int64_t column, int64_t columns, int) {
    sgemm(Transpose::Yes, Transpose::No, rows, columns, args.m, x + row, args.k, b + column, args.n,
          beta_of(args.accumulate), y + row * args.n + column, args.n);
  });
}

void matmul_swiglu_a_cpu(CpuStream& stream, const MatMulSwiglu& args) {
  const float* gate = data<float>(args.gate);
  const float* up = data<float>(args.up);
  if (args.m <= kFewRows) {
    // A few rows of the hidden matrix are no matrix: every chunk of columns needs all of them, so they are made once.
    const Buffer hidden = stream.device().allocate(args.m * args.k * 4, "matmul_swiglu_a hidden rows");
    hidden_block(gate, up, data<float>(hidden), args.m, args.k, args.k);
    return few_rows(stream, data<float>(hidden), {hidden, args.w, args.y, args.m, args.n, args.k, Accumulate::No});
  }
  const float* w = data<float>(args.w);
  float* y = data<float>(args.y);
  const Tiling tiling = make_tiling(args.m, args.n, args.k, Cut::WideTiles);
  const int64_t step = std::max<int64_t>(64, kHiddenValues / tiling.tile_rows);
  device::cpu::ThreadPool& threads = stream.threads();  // taken here: workers may not ask the device
  for_each_tile(stream, tiling, [&](int64_t row, int64_t rows, int64_t column, int64_t columns, int worker) {
    for (int64_t i = 0; i < args.k; i += step) {
      const int64_t length = std::min(step, args.k - i);
      float* hidden = threads.scratch(worker, rows * length);
      hidden_block(gate + row * args.k + i, up + row * args.k + i, hidden, rows, length, args.k);
      sgemm(Transpose::No, Transpose::No, rows, columns, length, hidden, length, w + i * args.n + column, args.n,
            i == 0 ? 0.0F : 1.0F, y + row * args.n + column, args.n);
    }
  });
}

void matmul_at_swiglu_a_cpu(CpuStream& stream, const MatMulAtSwiglu& args) {
  const float* gate = data<float>(args.gate);
  const float* up = data<float>(args.up);
  const float* b = data<float>(args.b);
  float* y = data<float>(args.y);
  const Tiling tiling = make_tiling(args.k, args.n, args.m, Cut::WideTiles);
  const int64_t step = std::max<int64_t>(64, kHiddenValues / tiling.tile_rows);
  device::cpu::ThreadPool& threads = stream.threads();  // taken here: workers may not ask the device
  for_each_tile(stream, tiling, [&](int64_t row, int64_t rows, int64_t column, int64_t columns, int worker) {
    for (int64_t i = 0; i < args.m; i += step) {
      const int64_t length = std::min(step, args.m - i);
      float* hidden = threads.scratch(worker, rows * length);
      hidden_block(gate + i * args.k + row, up + i * args.k + row, hidden, length, rows, args.k);
      sgemm(Transpose::Yes, Transpose::No, rows, columns, length, hidden, rows, b + i * args.n + column, args.n,
            i == 0 ? beta_of(args.accumulate) : 1.0F, y + row * args.n + column, args.n);
    }
  });
}

}  // namespace athanor::kernels
