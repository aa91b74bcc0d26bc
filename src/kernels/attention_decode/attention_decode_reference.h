// The cases of attention_decode. Its plain loop is that of attention, with queries that start behind the first keys.
#pragma once

#include "kernels/attention/attention_reference.h"
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
std::vector<double> attention_decode_reference(const DecodeSizes& sizes, const AttentionRule& rule,
                                               const std::vector<double>& q, const std::vector<double>& k,
                                               const std::vector<double>& v);

std::vector<KernelCase> attention_decode_cases();
KernelBench attention_decode_bench(device::Stream& stream, int64_t bytes);

}  // namespace athanor::kernels
