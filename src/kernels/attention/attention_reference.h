// The plain loops in double precision that judge attention, and its cases.
#pragma once

#include "kernels/kernel_info.h"

#include <vector>

namespace athanor::kernels {

struct AttentionSizes {
  int64_t batch;
  int64_t length;
  int64_t heads;
  int64_t kv_heads;
  int64_t head_dim;
};

struct AttentionResult {
  std::vector<double> out;          // (B*T, H*D)
  std::vector<double> log_sum_exp;  // (B*T, H)
};
/// q (B*T, H*D), k and v (B*T, Hkv*D); scores are multiplied by scale.
AttentionResult attention_reference(const AttentionSizes& sizes, double scale, const std::vector<double>& q,
                                    const std::vector<double>& k, const std::vector<double>& v);

struct AttentionGradients {
  std::vector<double> d_q;
  std::vector<double> d_k;
  std::vector<double> d_v;
};
AttentionGradients attention_backward_reference(const AttentionSizes& sizes, double scale,
                                                const std::vector<double>& d_out, const std::vector<double>& q,
                                                const std::vector<double>& k, const std::vector<double>& v);

std::vector<KernelCase> attention_cases();
std::vector<KernelCase> attention_backward_cases();

}  // namespace athanor::kernels
