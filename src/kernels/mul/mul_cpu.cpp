// mul for the CPU device: vectorised loops over tiles of fixed size.
#include "device/cpu/simd.h"
#include "kernels/mul/mul_internal.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

// `columns` is the distance between rows; a tile may be a part of their width. Where b is as large as a there is one row.
ATHANOR_SIMD_CLONES
void mul_rows(const float* a, const float* b, float* out, const RowTile& tile, int64_t columns) {
  for (int64_t row = tile.first_row; row < tile.last_row; ++row) {
    const float* a_row = a + row * columns;
    float* out_row = out + row * columns;
#pragma omp simd
    for (int64_t c = tile.first_column; c < tile.last_column; ++c) out_row[c] = a_row[c] * b[c];
  }
}

// sum begins at the tile's first column.
ATHANOR_SIMD_CLONES
void add_products(const float* d_out, const float* a, float* sum, const RowTile& tile, int64_t columns) {
  for (int64_t row = tile.first_row; row < tile.last_row; ++row) {
    const int64_t start = row * columns + tile.first_column;
#pragma omp simd
    for (int64_t c = 0; c < tile.columns(); ++c) sum[c] += d_out[start + c] * a[start + c];
  }
}

}  // namespace

void mul_cpu(device::cpu::CpuStream& stream, const Mul& args, const RowShape& shape) {
  for_row_tiles(stream, shape, even_tile_rows(shape), [&](const RowTile& tile) {
    mul_rows(data<float>(args.a), data<float>(args.b), data<float>(args.out), tile, shape.columns);
  });
}

void mul_backward_cpu(device::cpu::CpuStream& stream, const MulBackward& args, const RowShape& shape) {
  const float* d_out = data<float>(args.d_out);
  const float* a = data<float>(args.a);
  const float* b = data<float>(args.b);
  float* d_a = args.d_a ? data<float>(args.d_a) : nullptr;
  float* d_b = args.d_b ? data<float>(args.d_b) : nullptr;
  sum_row_blocks(stream, shape, d_b, [&](const RowTile& tile, float* sum) {
    if (d_a != nullptr) mul_rows(d_out, b, d_a, tile, shape.columns);
    if (sum != nullptr) add_products(d_out, a, sum, tile, shape.columns);
  });
}

}  // namespace athanor::kernels
