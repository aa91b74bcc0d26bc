// add, sub, their gradients and gradient_accumulate for the CPU device: vectorised loops over tiles of fixed size.
#include "device/cpu/simd.h"
#include "kernels/add/add_internal.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

// `columns` is the distance between rows; a tile may be a part of their width. Where b is as large as a there is one row.
ATHANOR_SIMD_CLONES
void add_rows(const float* a, const float* b, float* out, const RowTile& tile, int64_t columns) {
  for (int64_t row = tile.first_row; row < tile.last_row; ++row) {
    const float* a_row = a + row * columns;
    float* out_row = out + row * columns;
#pragma omp simd
    for (int64_t c = tile.first_column; c < tile.last_column; ++c) out_row[c] = a_row[c] + b[c];
  }
}

ATHANOR_SIMD_CLONES
void sub_rows(const float* a, const float* b, float* out, const RowTile& tile, int64_t columns) {
  for (int64_t row = tile.first_row; row < tile.last_row; ++row) {
    const float* a_row = a + row * columns;
    float* out_row = out + row * columns;
#pragma omp simd
    for (int64_t c = tile.first_column; c < tile.last_column; ++c) out_row[c] = a_row[c] - b[c];
  }
}

// d_a or sum may be nullptr. sum begins at the tile's first column.
ATHANOR_SIMD_CLONES
void gradient_rows(const float* d_out, float* d_a, float* sum, float sign, const RowTile& tile, int64_t columns) {
  for (int64_t row = tile.first_row; row < tile.last_row; ++row) {
    const int64_t start = row * columns + tile.first_column;
    if (d_a != nullptr) std::copy(d_out + start, d_out + start + tile.columns(), d_a + start);
    if (sum == nullptr) continue;
#pragma omp simd
    for (int64_t c = 0; c < tile.columns(); ++c) sum[c] += sign * d_out[start + c];
  }
}

}  // namespace

void add_cpu(device::cpu::CpuStream& stream, const Add& args, const RowShape& shape) {
  for_row_tiles(stream, shape, even_tile_rows(shape), [&](const RowTile& tile) {
    add_rows(data<float>(args.a), data<float>(args.b), data<float>(args.out), tile, shape.columns);
  });
}

void sub_cpu(device::cpu::CpuStream& stream, const Sub& args, const RowShape& shape) {
  for_row_tiles(stream, shape, even_tile_rows(shape), [&](const RowTile& tile) {
    sub_rows(data<float>(args.a), data<float>(args.b), data<float>(args.out), tile, shape.columns);
  });
}

void add_backward_cpu(device::cpu::CpuStream& stream, const AddBackward& args, const RowShape& shape, float sign) {
  const float* d_out = data<float>(args.d_out);
  float* d_a = args.d_a ? data<float>(args.d_a) : nullptr;
  float* d_b = args.d_b ? data<float>(args.d_b) : nullptr;
  sum_row_blocks(stream, shape, d_b,
                 [&](const RowTile& tile, float* sum) { gradient_rows(d_out, d_a, sum, sign, tile, shape.columns); });
}

void gradient_accumulate_cpu(device::cpu::CpuStream& stream, const AddInto& args) {
  for_row_tiles(stream, {1, args.count}, 1, [&](const RowTile& tile) {
    add_rows(data<float>(args.into), data<float>(args.from), data<float>(args.into), tile, args.count);
  });
}

}  // namespace athanor::kernels
