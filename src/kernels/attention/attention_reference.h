// The plain loops in double precision that judge attention, and what its cases and tests share: inputs, and a run of both directions.
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
  int64_t first_position = 0;  // keys that lie before the first query row of a batch entry
};

/// How scores are made and which keys a row sees; as in Attention.
struct AttentionRule {
  double scale = 1;
  int64_t window = 0;
  double soft_cap = 0;
  std::vector<uint32_t> first_key{};  // (B*T), or empty
};

struct AttentionResult {
  std::vector<double> out;          // (B*T, H*D)
  std::vector<double> log_sum_exp;  // (B*T, H)
};
/// q (B*T, H*D), k and v (B*(first_position + T), Hkv*D).
AttentionResult attention_reference(const AttentionSizes& sizes, const AttentionRule& rule,
                                    const std::vector<double>& q, const std::vector<double>& k,
                                    const std::vector<double>& v);

struct AttentionGradients {
  std::vector<double> d_q;
  std::vector<double> d_k;
  std::vector<double> d_v;
  double largest_term = 0;  // d_q and d_k are sums of differences; the largest value that is subtracted from
};
AttentionGradients attention_backward_reference(const AttentionSizes& sizes, const AttentionRule& rule,
                                                const std::vector<double>& d_out, const std::vector<double>& q,
                                                const std::vector<double>& k, const std::vector<double>& v);

struct AttentionInputs {
  std::vector<float> q, k, v, d_out;
};
/// Fixed values; those of q and k times `magnitude`, so that scores are about its square.
AttentionInputs attention_inputs(const AttentionSizes& sizes, float magnitude);

struct AttentionOutputs {
  std::vector<float> out, log_sum_exp, d_q, d_k, d_v;
  bool operator==(const AttentionOutputs&) const = default;
};
enum class Directions { Forward, Both };
/// Uploads, launches attention and, if asked, attention_backward, downloads. Outputs are poisoned before.
AttentionOutputs run_attention(device::Stream& stream, const AttentionSizes& sizes, const AttentionRule& rule,
                               const AttentionInputs& inputs, Directions directions = Directions::Both,
                               MatMulPrecision precision = MatMulPrecision::Highest);

/// first_key of a batch entry packed with documents of these lengths.
std::vector<uint32_t> first_keys_of(const std::vector<int64_t>& document_lengths);

/// What f32 may cost a result of these sizes: weights carry the scores' absolute error, which grows with their size: a score of L is off
/// by L * 2^-24 and more.
double allowed_attention(int64_t keys, int64_t head_dim, double largest_score);

std::vector<KernelCase> attention_cases();
std::vector<KernelCase> attention_backward_cases();
KernelBench attention_bench(device::Stream& stream, int64_t bytes,
                            MatMulPrecision precision = MatMulPrecision::Highest);
KernelBench attention_backward_bench(device::Stream& stream, int64_t bytes,
                                     MatMulPrecision precision = MatMulPrecision::Highest);

}  // namespace athanor::kernels
