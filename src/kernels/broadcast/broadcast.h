// A trailing vector against rows, which add, sub and mul share: b of (C) meets each row of a (rows, C), and the gradient of b is a sum
// over the rows by a fixed tree. Operands of one shape are the case of one row.
#pragma once

#include "kernels/launch.h"

#include <algorithm>

namespace athanor::kernels {

struct RowShape {
  int64_t rows = 0;
  int64_t columns = 0;
};

/// `count` values as rows of `columns` values; columns 0 says that both operands have one shape: one row of all values.
inline RowShape row_shape(std::string_view kernel, int64_t count, int64_t columns) {
  if (columns == 0) return {1, count};
  check(columns > 0 && count % columns == 0, "{}: {} values are no rows of {}; pass whole rows", kernel, count,
        columns);
  return {count / columns, columns};
}

inline constexpr int64_t kRowBlock = 32;  // rows that a thread sums in order; also in the shaders

// --- WebGPU

/// A dispatch of groups of 256 threads over `rows` rows of Values: vec4<f32> where the row is a whole number of them, else f32. The
/// kernel adds sources, bindings and params; `columns` is what the shader counts in.
struct RowDispatch {
  device::webgpu::Dispatch dispatch;
  uint32_t columns = 0;  // in Values
};
RowDispatch row_dispatch(const device::webgpu::WebGpuStream& stream, const char* kernel, const RowShape& shape,
                         int64_t rows, const device::KernelCost& cost);

/// Where a level of the tree with `blocks` sums of C values writes: `out` itself when it is one, else a buffer of its own.
Buffer block_sums(device::webgpu::WebGpuStream& stream, const char* kernel, int64_t blocks, int64_t columns,
                  const Buffer& out);

/// The rest of the tree: `sums` holds a sum of each block of kRowBlock rows of the shape; blocks of 2,048 of these are summed until one
/// row is left, which goes to `out`. Nothing to do when sums is out.
void sum_rows(device::webgpu::WebGpuStream& stream, const char* kernel, const Buffer& sums, const RowShape& shape,
              const Buffer& out);

/// In place of an operand that nobody needs: WebGPU wants something bound.
Buffer or_unused(device::webgpu::WebGpuStream& stream, const Buffer& buffer);

// --- CPU

/// Rows first_row to last_row - 1 of columns first_column to last_column - 1.
struct RowTile {
  int64_t first_row = 0;
  int64_t last_row = 0;
  int64_t first_column = 0;
  int64_t last_column = 0;
  int64_t columns() const { return last_column - first_column; }
};

// 64 KiB an operand: small against a core's L2, large against the cost of a chunk.
inline constexpr int64_t kTileValues = 16384;

/// body(tile) for tiles of `tile_rows` rows that cover the shape, shared among the workers.
template <typename Body>
void for_row_tiles(device::cpu::CpuStream& stream, const RowShape& shape, int64_t tile_rows, const Body& body) {
  if (shape.rows == 0 || shape.columns == 0) return;
  const int64_t tile_columns = std::min(shape.columns, kTileValues);
  const int64_t across = ceil_div(shape.columns, tile_columns);
  const int64_t tiles = across * ceil_div(shape.rows, tile_rows);
  const int64_t chunk = std::max<int64_t>(1, kTileValues / (tile_rows * tile_columns));
  stream.threads().parallel_for(tiles, chunk, [&](int64_t begin, int64_t end, int) {
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t row = tile / across * tile_rows;
      const int64_t column = tile % across * tile_columns;
      body(RowTile{row, std::min(row + tile_rows, shape.rows), column, std::min(column + tile_columns, shape.columns)});
    }
  });
}

/// A height at which a tile has about kTileValues values.
inline int64_t even_tile_rows(const RowShape& shape) {
  return std::max<int64_t>(1, kTileValues / std::max<int64_t>(1, shape.columns));
}

/// out[c] = sum over rows, by blocks of kRowBlock rows and then the blocks in order. add_terms(tile, sum) adds the terms of the tile's
/// rows to sum[0 ... tile.columns()); sum is nullptr when out is, which is a walk over the tiles alone.
template <typename AddTerms>
void sum_row_blocks(device::cpu::CpuStream& stream, const RowShape& shape, float* out, const AddTerms& add_terms) {
  const int64_t blocks = ceil_div(shape.rows, kRowBlock);
  Buffer sums_buffer;
  float* sums = out;
  if (out != nullptr && blocks > 1) {
    sums_buffer = stream.device().allocate(blocks * shape.columns * 4, "row sums");
    sums = device::cpu::data<float>(sums_buffer);
  }
  for_row_tiles(stream, shape, kRowBlock, [&](const RowTile& tile) {
    float* sum = nullptr;
    if (sums != nullptr) {
      sum = sums + tile.first_row / kRowBlock * shape.columns + tile.first_column;
      std::fill(sum, sum + tile.columns(), 0.0F);
    }
    add_terms(tile, sum);
  });
  if (sums == out) return;
  for_row_tiles(stream, {1, shape.columns}, 1, [&](const RowTile& tile) {
    std::fill(out + tile.first_column, out + tile.last_column, 0.0F);
    for (int64_t block = 0; block < blocks; ++block) {
      const float* sum = sums + block * shape.columns;
      for (int64_t c = tile.first_column; c < tile.last_column; ++c) out[c] += sum[c];
    }
  });
}

}  // namespace athanor::kernels
