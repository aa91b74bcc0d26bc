// The plain loop in double precision that judges attention_decode, and its cases.
#pragma once

#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

struct DecodeSizes {
  int64_t rows;
  int64_t position;
  int64_t capacity;
  int64_t heads;
  int64_t kv_heads;
  int64_t head_dim;
};

/// q (rows, H*D), k and v (capacity, Hkv*D), of which rows from position + rows on are not read.
std::vector<double> attention_decode_reference(const DecodeSizes& sizes, double scale, const std::vector<double>& q,
                                               const std::vector<double>& k, const std::vector<double>& v);

std::vector<KernelCase> attention_decode_cases();

}  // namespace athanor::kernels
