// The door of top_k: checks of shapes, choice of device, and its entry in the table of kernels.
#include "kernels/top_k/top_k.h"

#include "kernels/kernel_info.h"
#include "kernels/launch.h"
#include "kernels/top_k/top_k_internal.h"
#include "kernels/top_k/top_k_reference.h"

#include <algorithm>

namespace athanor::kernels {

namespace {

/// One comparison a value; the row is read once and the results are written.
device::KernelCost top_k_cost(const TopK& args) {
  const auto count = static_cast<double>(args.rows * args.columns);
  return {count, 4 * count + 8 * static_cast<double>(args.rows * args.k)};
}

}  // namespace

void top_k(Stream& stream, const TopK& args) {
  check(args.columns > 0 && args.columns <= kMostTopKColumns,
        "top_k: rows of {} values were given; they must have 1 to {}", args.columns, kMostTopKColumns);
  check(args.k >= 1 && args.k <= args.columns, "top_k: k is {} but rows have {} values; pass 1 to {}", args.k,
        args.columns, args.columns);
  if (args.rows == 0) return;
  check_size("top_k", "x", args.x, args.rows * args.columns);
  check_size("top_k", "values", args.values, args.rows * args.k);
  check_size("top_k", "indices", args.indices, args.rows * args.k);
  const device::KernelCost cost = top_k_cost(args);
  launch(
      stream, "top_k", cost, [&](auto& cpu) { top_k_cpu(cpu, args); },
      [&](auto& webgpu) { top_k_webgpu(webgpu, args, cost); });
}

namespace {

/// Logits of a large vocabulary: random, since the bins that values fall into decide the time.
KernelBench bench_top_k(Stream& stream, int64_t bytes) {
  TopK args;
  args.columns = 128256;
  args.rows = std::max<int64_t>(1, bytes / 4 / args.columns);
  args.k = 64;
  const std::vector<float> row = test_values(args.columns, 1, 3.0F);
  std::vector<float> x;
  for (int64_t i = 0; i < args.rows; ++i) x.insert(x.end(), row.begin(), row.end());
  args.x = upload_values(stream, x);
  args.values = stream.device().allocate(args.rows * args.k * 4, "bench values");
  args.indices = stream.device().allocate(args.rows * args.k * 4, "bench indices");
  return {fmt::format("rows {}, columns {}, k {}", args.rows, args.columns, args.k), top_k_cost(args),
          [&stream, args] { top_k(stream, args); }};
}

}  // namespace

std::vector<KernelInfo> top_k_kernels() {
  return {{"top_k", "the k largest values of each row and their indices, sorted", top_k_cases(), bench_top_k}};
}

}  // namespace athanor::kernels
