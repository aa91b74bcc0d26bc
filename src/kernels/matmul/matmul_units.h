// Which products run on the matrix units, and what they need beforehand.
#pragma once

#include "kernels/launch.h"
#include "kernels/matmul/matmul_product.h"

namespace athanor::kernels {

/// True when the call permits rounded factors, the adapter multiplies 16 x 16 x 16 blocks of f16 with f32 sums in subgroups of 32, and
/// the product is one for them: X in f32 and W in f32 or f16, rows of whole vectors, at least 64 rows, columns and terms, 2^26 FLOP in all (below, the
/// scales' launches take longer than the product) unless a table of choices says otherwise, and a kernel that need not keep its portable
/// form.
bool takes_matrix_units(Stream& stream, const ProductCall& call);

/// The scales of the operands, measured by max_magnitude where the caller keeps none.
OperandScales<Buffer> measure_scales(Stream& stream, const ProductCall& call);

}  // namespace athanor::kernels
