// Products with up to kFewRows rows on the CPU, as in decoding: W is read once, straight from memory. A general product
// would first copy W into packed form, which costs more than the product itself.
#pragma once

#include <cstdint>

namespace athanor::kernels {

/// A block of a product with `rows` rows, 1 to kFewRows. Strides in elements.
struct FewRows {
  const float* x;
  const float* w;
  float* y;
  int64_t rows;
  int64_t columns;   // of this block
  int64_t k;         // terms of each sum in this block
  int64_t x_stride;  // between rows of x
  int64_t w_stride;  // between rows of w
  int64_t y_stride;  // between rows of y
  bool accumulate;
};

/// y[row, c] (+)= sum over i < k of x[row, i] * w[i, c]. Each row's sum has the same order for any number of rows.
void few_rows_product(const FewRows& args);

/// y[row, c] (+)= sum over i < k of x[row, i] * w[c, i].
void few_rows_product_t(const FewRows& args);

/// y[i] (+)= sum over parts, in order, of partial[part, i].
void sum_parts(const float* partial, float* y, int64_t parts, int64_t count, bool accumulate);

}  // namespace athanor::kernels
