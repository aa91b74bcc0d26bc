// Products with few rows on the CPU: vectorised over columns (W as [K, N]) or over the sum (W as [N, K]).
#include "kernels/matmul/matmul_few_rows_cpu.h"

#include "device/cpu/simd.h"

#include <algorithm>
#include <utility>

namespace athanor::kernels {

namespace {

/// The block of w that one step reads, and where its rows stand in x and y. Strides in elements.
struct Step {
  const float* x;
  const float* w;
  float* y;
  int64_t columns;
  int64_t k;  // rows of w
  int64_t x_stride;
  int64_t w_stride;
  int64_t y_stride;
};

/// Adds four rows of w at once to every row of y, so that y goes through the registers once for four rows of w. The
/// rows of x are a pack: the compiler sees straight code inside the vectorised loop.
template <size_t... Row>
ATHANOR_INLINE void add_four(const float* x, const float* w, float* y, const Step& step, std::index_sequence<Row...>) {
  const int64_t columns = step.columns;
  const int64_t x_stride = step.x_stride;
  const int64_t n = step.y_stride;
  const float* w0 = w;
  const float* w1 = w + step.w_stride;
  const float* w2 = w + 2 * step.w_stride;
  const float* w3 = w + 3 * step.w_stride;
#pragma omp simd
  for (int64_t c = 0; c < columns; ++c) {
    ((y[Row * n + c] += x[Row * x_stride] * w0[c] + x[Row * x_stride + 1] * w1[c] + x[Row * x_stride + 2] * w2[c] +
                        x[Row * x_stride + 3] * w3[c]),
     ...);
  }
}

template <size_t... Row>
ATHANOR_INLINE void add_one(const float* x, const float* w, float* y, const Step& step, std::index_sequence<Row...>) {
  const int64_t columns = step.columns;
  const int64_t x_stride = step.x_stride;
  const int64_t n = step.y_stride;
#pragma omp simd
  for (int64_t c = 0; c < columns; ++c) ((y[Row * n + c] += x[Row * x_stride] * w[c]), ...);
}

template <size_t Rows>
ATHANOR_INLINE void add_step(const Step& step) {
  constexpr std::make_index_sequence<Rows> kRows{};
  int64_t i = 0;
  for (; i + 4 <= step.k; i += 4) add_four(step.x + i, step.w + i * step.w_stride, step.y, step, kRows);
  for (; i < step.k; ++i) add_one(step.x + i, step.w + i * step.w_stride, step.y, step, kRows);
}

// A function for each number of rows: one with all of them inlined takes the compiler many times longer.
ATHANOR_SIMD_CLONES void add_step_1(const Step& step) { add_step<1>(step); }
ATHANOR_SIMD_CLONES void add_step_2(const Step& step) { add_step<2>(step); }
ATHANOR_SIMD_CLONES void add_step_3(const Step& step) { add_step<3>(step); }
ATHANOR_SIMD_CLONES void add_step_4(const Step& step) { add_step<4>(step); }

/// Dot products of one row of x with eight rows of w: eight independent sums keep the multipliers busy.
ATHANOR_SIMD_CLONES
void dot_eight(const float* x, const float* w, int64_t k, int64_t stride, float* out) {
  float s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3, s4, s5, s6, s7)
  for (int64_t i = 0; i < k; ++i) {
    s0 += x[i] * w[i];
    s1 += x[i] * w[stride + i];
    s2 += x[i] * w[2 * stride + i];
    s3 += x[i] * w[3 * stride + i];
    s4 += x[i] * w[4 * stride + i];
    s5 += x[i] * w[5 * stride + i];
    s6 += x[i] * w[6 * stride + i];
    s7 += x[i] * w[7 * stride + i];
  }
  const float sums[8] = {s0, s1, s2, s3, s4, s5, s6, s7};
  std::copy(sums, sums + 8, out);
}

ATHANOR_SIMD_CLONES
float dot(const float* x, const float* w, int64_t k) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < k; ++i) sum += x[i] * w[i];
  return sum;
}

}  // namespace

void few_rows_product(const FewRows& args) {
  for (int64_t row = 0; !args.accumulate && row < args.rows; ++row) {
    std::fill(args.y + row * args.y_stride, args.y + row * args.y_stride + args.columns, 0.0F);
  }
  // Five to eight rows go in two passes, as more rows need more registers than there are; a step's block of w stays in
  // the cache.
  constexpr int64_t kStep = 16;
  for (int64_t i = 0; i < args.k; i += kStep) {
    for (int64_t row = 0; row < args.rows; row += 4) {
      const Step step{args.x + row * args.x_stride + i,
                      args.w + i * args.w_stride,
                      args.y + row * args.y_stride,
                      args.columns,
                      std::min(kStep, args.k - i),
                      args.x_stride,
                      args.w_stride,
                      args.y_stride};
      switch (std::min<int64_t>(4, args.rows - row)) {
        case 1:
          add_step_1(step);
          break;
        case 2:
          add_step_2(step);
          break;
        case 3:
          add_step_3(step);
          break;
        default:
          add_step_4(step);
          break;
      }
    }
  }
}

void few_rows_product_t(const FewRows& args) {
  const auto add_or_set = [&](int64_t row, int64_t column, float sum) {
    float& y = args.y[row * args.y_stride + column];
    y = args.accumulate ? y + sum : sum;
  };
  int64_t c = 0;
  for (; c + 8 <= args.columns; c += 8) {
    for (int64_t row = 0; row < args.rows; ++row) {
      float sums[8];
      dot_eight(args.x + row * args.x_stride, args.w + c * args.w_stride, args.k, args.w_stride, sums);
      for (int64_t j = 0; j < 8; ++j) add_or_set(row, c + j, sums[j]);
    }
  }
  for (; c < args.columns; ++c) {
    for (int64_t row = 0; row < args.rows; ++row) {
      add_or_set(row, c, dot(args.x + row * args.x_stride, args.w + c * args.w_stride, args.k));
    }
  }
}

ATHANOR_SIMD_CLONES
void sum_parts(const float* partial, float* y, int64_t parts, int64_t count, bool accumulate) {
  if (!accumulate) std::fill(y, y + count, 0.0F);
  for (int64_t part = 0; part < parts; ++part) {
    const float* values = partial + part * count;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) y[i] += values[i];
  }
}

}  // namespace athanor::kernels
