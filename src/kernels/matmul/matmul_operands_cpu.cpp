// Panels of the operands, made by loops that vectorise.
#include "kernels/matmul/matmul_operands_cpu.h"

#include "device/cpu/cpu_stream.h"
#include "device/cpu/simd.h"
#include "kernels/matmul/matmul_half.h"

namespace athanor::kernels {

namespace {

ATHANOR_SIMD_CLONES
void widen_row(const uint16_t* from, float* to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = half_to_float(from[i]);
}

ATHANOR_SIMD_CLONES
void hidden_row(const float* gate, const float* up, float* hidden, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) hidden[i] = device::cpu::silu_fast(gate[i]) * up[i];
}

ATHANOR_SIMD_CLONES
void hidden_row_of_halves(const uint16_t* gate, const uint16_t* up, float* hidden, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    hidden[i] = device::cpu::silu_fast(half_to_float(gate[i])) * half_to_float(up[i]);
  }
}

constexpr int64_t kRowsAhead = 4;

/// Short runs of rows far apart are asked for a few rows ahead: 0.7 instead of 1.0 ns a value at 64 columns of 1024 (2026-11-29).
template <typename Value>
void prefetch_row(const Value* values, int64_t columns) {
  constexpr int64_t kLine = 64 / sizeof(Value);
  for (int64_t c = 0; c < columns; c += kLine) __builtin_prefetch(values + c);
}

/// make(row) for each row of a block, whose operands are asked for ahead.
template <typename Value, typename Make>
void for_each_row(const Value* a, const Value* b, const Matrix& size, int64_t stride, Make make) {
  for (int64_t row = 0; row < size.rows; ++row) {
    if (row + kRowsAhead < size.rows && size.columns < stride) {
      prefetch_row(a + (row + kRowsAhead) * stride, size.columns);
      if (b != nullptr) prefetch_row(b + (row + kRowsAhead) * stride, size.columns);
    }
    make(row);
  }
}

void hidden_block_of_halves(const uint16_t* gate, const uint16_t* up, float* hidden, const Matrix& size,
                            int64_t stride) {
  for_each_row(gate, up, size, stride, [&](int64_t row) {
    hidden_row_of_halves(gate + row * stride, up + row * stride, hidden + row * size.columns, size.columns);
  });
}

}  // namespace

void widen_block(const uint16_t* from, float* to, const Matrix& size, int64_t stride) {
  for_each_row<uint16_t>(from, nullptr, size, stride,
                         [&](int64_t row) { widen_row(from + row * stride, to + row * size.columns, size.columns); });
}

void hidden_block(const float* gate, const float* up, float* hidden, const Matrix& size, int64_t stride) {
  for_each_row(gate, up, size, stride, [&](int64_t row) {
    hidden_row(gate + row * stride, up + row * stride, hidden + row * size.columns, size.columns);
  });
}

LeftOperand::LeftOperand(const ProductCall& call)
    : x_(device::cpu::raw_data(call.x)),
      up_(call.up ? device::cpu::raw_data(call.up) : nullptr),
      half_(x_type(call.kernel) == DType::F16),
      transposed_(is_at(call.kernel.product)),
      stride_(x_matrix(call.kernel.product, call.size).columns) {}

Panel LeftOperand::panel(int64_t row, int64_t rows, int64_t term, int64_t terms, float* block) const {
  const int64_t first = transposed_ ? term * stride_ + row : row * stride_ + term;
  const Matrix size = transposed_ ? Matrix{terms, rows} : Matrix{rows, terms};
  const float* x = static_cast<const float*>(x_) + first;
  if (!is_made()) return {x, stride_};
  const uint16_t* halves = static_cast<const uint16_t*>(x_) + first;
  if (up_ == nullptr) {
    widen_block(halves, block, size, stride_);
  } else if (half_) {
    hidden_block_of_halves(halves, static_cast<const uint16_t*>(up_) + first, block, size, stride_);
  } else {
    hidden_block(x, static_cast<const float*>(up_) + first, block, size, stride_);
  }
  return {block, size.columns};
}

RightOperand::RightOperand(const ProductCall& call)
    : w_(device::cpu::raw_data(call.w)),
      half_(w_type(call.kernel) == DType::F16),
      transposed_(call.kernel.product == Product::T),
      stride_(w_matrix(call.kernel.product, call.size).columns) {}

Panel RightOperand::panel(int64_t column, int64_t columns, int64_t term, int64_t terms, float* block) const {
  const int64_t first = transposed_ ? column * stride_ + term : term * stride_ + column;
  if (!half_) return {static_cast<const float*>(w_) + first, stride_};
  const Matrix size = transposed_ ? Matrix{columns, terms} : Matrix{terms, columns};
  widen_block(static_cast<const uint16_t*>(w_) + first, block, size, stride_);
  return {block, size.columns};
}

}  // namespace athanor::kernels
