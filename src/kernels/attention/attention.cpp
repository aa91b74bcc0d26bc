// The door of attention: checks of shapes, choice of device, and its entry in the table of kernels.
#include "kernels/attention/attention.h"

#include "kernels/attention/attention_internal.h"
#include "kernels/attention/attention_reference.h"
#include "kernels/kernel_info.h"

namespace athanor::kernels {

namespace {

// Products of a row with the keys it sees: half of T x T, the diagonal included.
double scored_pairs(int64_t batch, int64_t length, int64_t heads) {
  return 0.5 * static_cast<double>(batch) * static_cast<double>(heads) * static_cast<double>(length) *
         static_cast<double>(length + 1);
}

void check_length(std::string_view kernel, int64_t batch, int64_t length) {
  check(batch > 0 && length > 0, "{}: {} sequences of {} tokens; pass at least one of each", kernel, batch, length);
}

}  // namespace

void check_heads(std::string_view kernel, int64_t heads, int64_t kv_heads, int64_t head_dim) {
  check(heads > 0 && kv_heads > 0 && heads % kv_heads == 0,
        "{}: {} query heads do not share {} key/value heads evenly; use a multiple of them", kernel, heads, kv_heads);
  check(head_dim > 0 && head_dim <= kMaxHeadDim, "{}: a head width of {} is not supported; use 1 to {}", kernel,
        head_dim, kMaxHeadDim);
}

void attention(Stream& stream, const Attention& args) {
  check_heads("attention", args.heads, args.kv_heads, args.head_dim);
  check_length("attention", args.batch, args.length);
  const int64_t rows = args.batch * args.length;
  check_size("attention", "q", args.q, rows * args.heads * args.head_dim);
  check_size("attention", "k", args.k, rows * args.kv_heads * args.head_dim);
  check_size("attention", "v", args.v, rows * args.kv_heads * args.head_dim);
  check_size("attention", "out", args.out, rows * args.heads * args.head_dim);
  check_size("attention", "log_sum_exp", args.log_sum_exp, rows * args.heads);
  const double pairs = scored_pairs(args.batch, args.length, args.heads);
  const device::KernelCost cost{4 * pairs * static_cast<double>(args.head_dim),
                                8.0 * static_cast<double>(rows * (args.heads + args.kv_heads) * args.head_dim)};
  const AttentionTiles tiles{args.q,      args.k, args.v,     args.out,      args.log_sum_exp, args.batch, args.length,
                             args.length, 0,      args.heads, args.kv_heads, args.head_dim,    args.scale};
  launch(
      stream, "attention", cost, [&](auto& cpu) { attention_tiles_cpu(cpu, tiles); },
      [&](auto& webgpu) { attention_tiles_webgpu(webgpu, "attention", tiles, cost); });
}

void attention_backward(Stream& stream, const AttentionBackward& args) {
  constexpr std::string_view kKernel = "attention_backward";
  check_heads(kKernel, args.heads, args.kv_heads, args.head_dim);
  check_length(kKernel, args.batch, args.length);
  const int64_t rows = args.batch * args.length;
  const int64_t query_count = rows * args.heads * args.head_dim;
  const int64_t key_count = rows * args.kv_heads * args.head_dim;
  check_size(kKernel, "d_out", args.d_out, query_count);
  check_size(kKernel, "q", args.q, query_count);
  check_size(kKernel, "k", args.k, key_count);
  check_size(kKernel, "v", args.v, key_count);
  check_size(kKernel, "out", args.out, query_count);
  check_size(kKernel, "log_sum_exp", args.log_sum_exp, rows * args.heads);
  check_size(kKernel, "d_q", args.d_q, query_count);
  check_size(kKernel, "d_k", args.d_k, key_count);
  check_size(kKernel, "d_v", args.d_v, key_count);
  const double pairs = scored_pairs(args.batch, args.length, args.heads);
  const device::KernelCost cost{10 * pairs * static_cast<double>(args.head_dim),
                                16.0 * static_cast<double>(query_count + key_count)};
  launch(
      stream, kKernel, cost, [&](auto& cpu) { attention_backward_cpu(cpu, args); },
      [&](auto& webgpu) { attention_backward_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> attention_kernels() {
  return {
      {"attention", "causal softmax(q k^T scale) v with grouped queries, online softmax", attention_cases()},
      {"attention_backward", "gradients of attention for q, k and v, recomputed from log-sum-exp",
       attention_backward_cases()},
  };
}

}  // namespace athanor::kernels
