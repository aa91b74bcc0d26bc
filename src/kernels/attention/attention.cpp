// The door of attention: checks of shapes, choice of device, and its entry in the table of kernels.
#include "kernels/attention/attention.h"

#include "kernels/attention/attention_internal.h"
#include "kernels/attention/attention_reference.h"
#include "kernels/attention/attention_units.h"
#include "kernels/attention/soft_cap.h"
#include "kernels/kernel_info.h"

#include <algorithm>

namespace athanor::kernels {

namespace {

// What both directions check beside their buffers of results.
template <typename Args>
void check_inputs(std::string_view kernel, const Args& args) {
  check_heads(kernel, args.heads, args.kv_heads, args.head_dim);
  check_window_and_cap(kernel, args.window, args.soft_cap);
  check(args.batch > 0 && args.length > 0, "{}: {} sequences of {} tokens; pass at least one of each", kernel,
        args.batch, args.length);
  const int64_t rows = args.batch * args.length;
  check_size(kernel, "q", args.q, rows * args.heads * args.head_dim);
  check_size(kernel, "k", args.k, rows * args.kv_heads * args.head_dim);
  check_size(kernel, "v", args.v, rows * args.kv_heads * args.head_dim);
  check_size(kernel, "out", args.out, rows * args.heads * args.head_dim);
  check_size(kernel, "log_sum_exp", args.log_sum_exp, rows * args.heads);
  if (args.first_key) check_size(kernel, "first_key", args.first_key, rows);
}

// FLOPs for each product of a row and a key it sees, bytes of q and k, the others being as large as these.
template <typename Args>
device::KernelCost cost_of(const Args& args, double products, double tensors_of_each) {
  const double pairs = static_cast<double>(args.batch * args.heads) * seen_pairs(args.length, 0, args.window);
  const double values = static_cast<double>(args.batch * args.length * (args.heads + args.kv_heads) * args.head_dim);
  return {2 * products * pairs * static_cast<double>(args.head_dim), 4 * tensors_of_each * values};
}

template <typename Args>
AttentionTiles shared_tiles(const Args& args) {
  AttentionTiles tiles;
  tiles.q = args.q;
  tiles.k = args.k;
  tiles.v = args.v;
  tiles.batch = args.batch;
  tiles.length = args.length;
  tiles.key_rows = args.length;
  tiles.heads = args.heads;
  tiles.kv_heads = args.kv_heads;
  tiles.head_dim = args.head_dim;
  tiles.scale = args.scale;
  tiles.window = args.window;
  tiles.soft_cap = args.soft_cap;
  tiles.first_key = args.first_key;
  return tiles;
}

}  // namespace

double seen_pairs(int64_t length, int64_t first_position, int64_t window) {
  // Row t sees first_position + t + 1 keys, or `window` from the row on at which that is reached.
  const int64_t full = window == 0 ? length : std::clamp<int64_t>(window - first_position, 0, length);
  const double growing =
      static_cast<double>(full) * (static_cast<double>(first_position) + 0.5 * static_cast<double>(full + 1));
  return growing + static_cast<double>(length - full) * static_cast<double>(window);
}

device::KernelCost attention_cost(const Attention& args) { return cost_of(args, 2, 2); }
device::KernelCost attention_backward_cost(const AttentionBackward& args) { return cost_of(args, 5, 4); }

AttentionTiles tiles_of(const Attention& args) {
  AttentionTiles tiles = shared_tiles(args);
  tiles.out = args.out;
  tiles.log_sum_exp = args.log_sum_exp;
  return tiles;
}

AttentionTiles tiles_of(const AttentionBackward& args) { return shared_tiles(args); }

void check_heads(std::string_view kernel, int64_t heads, int64_t kv_heads, int64_t head_dim) {
  check(heads > 0 && kv_heads > 0 && heads % kv_heads == 0,
        "{}: {} query heads do not share {} key/value heads evenly; use a multiple of them", kernel, heads, kv_heads);
  check(head_dim > 0 && head_dim <= kMaxHeadDim, "{}: a head width of {} is not supported; use 1 to {}", kernel,
        head_dim, kMaxHeadDim);
}

void check_window_and_cap(std::string_view kernel, int64_t window, float soft_cap) {
  check(window >= 0, "{}: a window of {} keys; pass 1 or more, or 0 for none", kernel, window);
  check_soft_cap(kernel, soft_cap);
}

void attention(Stream& stream, const Attention& args) {
  check_inputs("attention", args);
  const device::KernelCost cost = attention_cost(args);
  if (takes_matrix_units(stream, args)) return attention_on_matrix_units(stream, args, cost);
  const AttentionTiles tiles = tiles_of(args);
  launch(
      stream, "attention", cost, [&](auto& cpu) { attention_tiles_cpu(cpu, tiles); },
      [&](auto& webgpu) { attention_tiles_webgpu(webgpu, {"attention", "portable", "scalar"}, tiles, cost); });
}

void attention_backward(Stream& stream, const AttentionBackward& args) {
  constexpr std::string_view kKernel = "attention_backward";
  check_inputs(kKernel, args);
  check_size(kKernel, "d_out", args.d_out, args.batch * args.length * args.heads * args.head_dim);
  check_size(kKernel, "d_q", args.d_q, args.batch * args.length * args.heads * args.head_dim);
  check_size(kKernel, "d_k", args.d_k, args.batch * args.length * args.kv_heads * args.head_dim);
  check_size(kKernel, "d_v", args.d_v, args.batch * args.length * args.kv_heads * args.head_dim);
  const device::KernelCost cost = attention_backward_cost(args);
  if (takes_matrix_units(stream, args)) return attention_backward_on_matrix_units(stream, args, cost);
  launch(
      stream, kKernel, cost, [&](auto& cpu) { attention_backward_cpu(cpu, args); },
      [&](auto& webgpu) { attention_backward_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> attention_kernels() {
  const auto forward = [](Stream& stream, int64_t bytes) { return attention_bench(stream, bytes); };
  const auto backward = [](Stream& stream, int64_t bytes) { return attention_backward_bench(stream, bytes); };
  return {
      {"attention", "causal softmax(q k^T scale) v with grouped queries, online softmax", attention_cases(), forward,
       "", attention_bench},
      {"attention_backward", "gradients of attention for q, k and v, recomputed from log-sum-exp",
       attention_backward_cases(), backward, "", attention_backward_bench},
  };
}

}  // namespace athanor::kernels
