// sum, gradient_norm_squared and finalize_grad_stats for the CPU device: blocks of kNormBlock values shared among the workers, then the
// blocks in order, so that the sums do not depend on the number of threads.
#include <bit>
#include <cmath>

#include "device/cpu/simd.h"
#include "kernels/gradient_norm/gradient_norm_internal.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

constexpr int64_t kBlocksPerChunk = 4;

bool is_finite(float value) { return (std::bit_cast<uint32_t>(value) & 0x7f800000U) != 0x7f800000U; }

ATHANOR_SIMD_CLONES
float sum_of_values(const float* x, int64_t count) {
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < count; ++i) total += x[i];
  return total;
}

// Squares are never negative, so a NaN or infinity stays in the sum.
ATHANOR_SIMD_CLONES
float sum_of_squares(const float* x, int64_t count) {
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < count; ++i) total += x[i] * x[i];
  return total;
}

}  // namespace

void sum_cpu(device::cpu::CpuStream& stream, const Sum& args) {
  const float* values = data<float>(args.values);
  const int64_t blocks = norm_blocks(args.count);
  const Buffer partial_buffer = stream.device().allocate(blocks * 4, "sum partial sums");
  float* partial = data<float>(partial_buffer);
  stream.threads().parallel_for(blocks, kBlocksPerChunk, [&](int64_t begin, int64_t end, int) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t start = block * kNormBlock;
      partial[block] = sum_of_values(values + start, std::min(kNormBlock, args.count - start));
    }
  });
  float* out = data<float>(args.out);
  const float total = sum_of_values(partial, blocks);
  *out = args.accumulate == Accumulate::Yes ? *out + total : total;
}

namespace {

/// Blocks of the table, then the blocks of each tensor, in order.
void tensor_norms(device::cpu::CpuStream& stream, const GradientNorm& args) {
  const float* gradients = data<float>(args.gradients);
  const uint32_t* blocks = data<uint32_t>(args.tensors.blocks);
  const uint32_t* tensors = data<uint32_t>(args.tensors.tensors);
  float* partial = data<float>(args.partial);
  float* sums = data<float>(args.tensor_sums);
  stream.threads().parallel_for(args.tensors.block_count, kBlocksPerChunk, [&](int64_t begin, int64_t end, int) {
    for (int64_t block = begin; block < end; ++block) {
      const uint32_t first = blocks[2 * block];
      partial[block] = sum_of_squares(gradients + first, blocks[2 * block + 1] - first);
    }
  });
  // Few, yet shared: a dry run has no table to read, and skips what the workers do.
  stream.threads().parallel_for(args.tensors.tensor_count, kBlocksPerChunk, [&](int64_t begin, int64_t end, int) {
    for (int64_t tensor = begin; tensor < end; ++tensor) {
      sums[tensor] = sum_of_values(partial + tensors[2 * tensor], tensors[2 * tensor + 1]);
    }
  });
}

}  // namespace

void gradient_norm_squared_cpu(device::cpu::CpuStream& stream, const GradientNorm& args) {
  if (args.tensors.blocks) return tensor_norms(stream, args);
  const float* gradients = data<float>(args.gradients);
  float* partial = data<float>(args.partial);
  stream.threads().parallel_for(norm_blocks(args.count), kBlocksPerChunk, [&](int64_t begin, int64_t end, int) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t start = block * kNormBlock;
      partial[block] = sum_of_squares(gradients + start, std::min(kNormBlock, args.count - start));
    }
  });
}

void finalize_grad_stats_cpu(device::cpu::CpuStream&, const GradStats& args) {
  const float* partial = data<float>(args.partial);
  const float total = sum_of_values(partial, args.partials);
  bool finite = is_finite(total);
  for (int64_t block = 0; block < args.partials; ++block) finite = finite && is_finite(partial[block]);
  const float norm = std::sqrt(total);
  float* stats = data<float>(args.stats);
  stats[0] = norm;
  const bool outlier = finite && args.largest_norm > 0 && norm > args.largest_norm;
  const bool taken = finite && !outlier;
  stats[1] = !taken ? 0.0F : args.max_norm > 0 && norm > args.max_norm ? args.max_norm / norm : 1.0F;
  stats[2] = taken ? 0.0F : 1.0F;
  stats[3] = outlier ? 1.0F : 0.0F;
}

}  // namespace athanor::kernels
