// The doors of sum, gradient_norm_squared and finalize_grad_stats: checks, choice of device, benchmarks, and their entries in the table of
// kernels.
#include "kernels/gradient_norm/gradient_norm.h"

#include <cmath>
#include <vector>

#include "kernels/bench_values.h"
#include "kernels/gradient_norm/gradient_norm_internal.h"
#include "kernels/gradient_norm/gradient_norm_reference.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"

namespace athanor::kernels {

namespace {

device::KernelCost sum_cost(int64_t count) { return {1.0 * count, 4.0 * count}; }
device::KernelCost norm_cost(int64_t count) { return {2.0 * count, 4.0 * count}; }

KernelBench bench_sum(Stream& stream, int64_t bytes) {
  const Sum args{bench_values(stream, bytes / 4, 1), bench_zeros(stream, 1), bytes / 4};
  return {fmt::format("count {}", args.count), sum_cost(args.count), [&stream, args] { sum(stream, args); }};
}

KernelBench bench_norm(Stream& stream, int64_t bytes) {
  const int64_t count = bytes / 4;
  const GradientNorm args{bench_values(stream, count, 1), count, bench_zeros(stream, norm_blocks(count))};
  return {fmt::format("count {}", count), norm_cost(count), [&stream, args] { gradient_norm_squared(stream, args); }};
}

// The sums of a slab of `bytes`: one workgroup, bound by latency.
KernelBench bench_stats(Stream& stream, int64_t bytes) {
  const int64_t partials = norm_blocks(bytes / 4);
  const GradStats args{bench_values(stream, partials, 1), partials, 1, bench_zeros(stream, 4)};
  return {fmt::format("partial sums {}", partials), sum_cost(partials),
          [&stream, args] { finalize_grad_stats(stream, args); }};
}

void check_tensors(const GradientNorm& args) {
  check(args.tensors.end <= args.count,
        "gradient_norm_squared: the tensors end at element {} but the slab has {}; pass the table of this slab",
        args.tensors.end, args.count);
  check_size("gradient_norm_squared", "partial", args.partial, args.tensors.block_count);
  check_size("gradient_norm_squared", "tensor_sums", args.tensor_sums, args.tensors.tensor_count);
}

}  // namespace

NormTable upload_norm_table(Stream& stream, std::span<const Segment> segments) {
  check(!segments.empty(), "segments: none were given; pass one a tensor");
  std::vector<uint32_t> blocks;
  std::vector<uint32_t> tensors;
  NormTable table;
  for (size_t i = 0; i < segments.size(); ++i) {
    const Segment& segment = segments[i];
    check_segment(segment, i);
    const int64_t count = norm_blocks(int64_t{segment.end} - segment.begin);
    tensors.insert(tensors.end(), {to_u32(table.block_count, "gradient_norm_squared"), static_cast<uint32_t>(count)});
    for (int64_t block = 0; block < count; ++block) {
      const int64_t begin = segment.begin + block * kNormBlock;
      const int64_t end = std::min<int64_t>(begin + kNormBlock, segment.end);
      blocks.insert(blocks.end(), {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
    }
    table.block_count += count;
    table.end = std::max<int64_t>(table.end, segment.end);
  }
  table.tensor_count = static_cast<int64_t>(segments.size());
  table.blocks = stream.device().allocate(table.block_count * 8, "blocks of gradient norms");
  table.tensors = stream.device().allocate(table.tensor_count * 8, "tensors of gradient norms");
  stream.upload(table.blocks, std::as_bytes(std::span(blocks)));
  stream.upload(table.tensors, std::as_bytes(std::span(tensors)));
  return table;
}

void sum(Stream& stream, const Sum& args) {
  check(args.count > 0, "sum: {} values; pass at least one", args.count);
  check_size("sum", "values", args.values, args.count);
  check_size("sum", "out", args.out, 1);
  const device::KernelCost cost = sum_cost(args.count);
  launch(
      stream, "sum", cost, [&](auto& cpu) { sum_cpu(cpu, args); },
      [&](auto& webgpu) { sum_webgpu(webgpu, args, cost); });
}

void gradient_norm_squared(Stream& stream, const GradientNorm& args) {
  check_size("gradient_norm_squared", "gradients", args.gradients, args.count);
  if (args.tensors.blocks) {
    check_tensors(args);
  } else {
    check_size("gradient_norm_squared", "partial", args.partial, norm_blocks(args.count));
  }
  if (args.count == 0) return;
  const device::KernelCost cost = norm_cost(args.count);
  launch(
      stream, "gradient_norm_squared", cost, [&](auto& cpu) { gradient_norm_squared_cpu(cpu, args); },
      [&](auto& webgpu) { gradient_norm_squared_webgpu(webgpu, args, cost); });
}

void finalize_grad_stats(Stream& stream, const GradStats& args) {
  check(std::isfinite(args.max_norm) && args.max_norm >= 0,
        "finalize_grad_stats: a max_norm of {}; pass a finite number above 0, or 0 for no clipping", args.max_norm);
  check(std::isfinite(args.largest_norm) && args.largest_norm >= 0,
        "finalize_grad_stats: a largest_norm of {}; pass a finite number above 0, or 0 to take any", args.largest_norm);
  check_size("finalize_grad_stats", "partial", args.partial, args.partials);
  check_size("finalize_grad_stats", "stats", args.stats, 4);
  const device::KernelCost cost = sum_cost(args.partials);
  launch(
      stream, "finalize_grad_stats", cost, [&](auto& cpu) { finalize_grad_stats_cpu(cpu, args); },
      [&](auto& webgpu) { finalize_grad_stats_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> gradient_norm_kernels() {
  return {
      {"sum", "sum of all values by a fixed tree", sum_cases(), bench_sum},
      {"gradient_norm_squared", "sums of g^2 by blocks of 4096 and of each tensor, not finite where a gradient is not",
       gradient_norm_squared_cases(), bench_norm},
      {"finalize_grad_stats", "norm, clip scale and non-finite flag from the sums", finalize_grad_stats_cases(),
       bench_stats},
  };
}

}  // namespace athanor::kernels
