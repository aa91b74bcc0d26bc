// The block types of ggml that the products read: how many values a block holds, in how many bytes.
#pragma once

#include "kernels/matmul_quantized/matmul_quantized.h"

namespace athanor::kernels {

struct WeightBlocks {
  const char* name;  // in errors and as the name of a variant: "q8_0"
  int64_t values;    // of a block, along the row
  int64_t bytes;
  bool four_bits;  // read by matmul_q4; the others by matmul_q8
};

/// Throws Error for Affine, which has no blocks.
const WeightBlocks& weight_blocks(WeightFormat format);

}  // namespace athanor::kernels
