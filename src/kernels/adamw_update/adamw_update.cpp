// The door of adamw_update: the table of segments, checks, choice of device, and its entry in the table of kernels.
#include "kernels/adamw_update/adamw_update.h"

#include <bit>
#include <cmath>

#include "kernels/adamw_update/adamw_update_internal.h"
#include "kernels/adamw_update/adamw_update_reference.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"

namespace athanor::kernels {

namespace {

void check_segment(const AdamwSegment& segment, size_t index) {
  check(segment.begin % kAdamwBlock == 0, "adamw_update: segment {} begins at element {}; begin at a multiple of {}",
        index, segment.begin, kAdamwBlock);
  check(segment.begin < segment.end, "adamw_update: segment {} goes from element {} to {}; pass at least one element",
        index, segment.begin, segment.end);
  check(std::isfinite(segment.weight_decay) && segment.weight_decay >= 0,
        "adamw_update: segment {} has a weight decay of {}; pass a finite number of at least 0", index,
        segment.weight_decay);
}

void check_finite(const char* name, float value, bool in_range) {
  check(std::isfinite(value) && in_range, "adamw_update: {} is {}, which is out of range", name, value);
}

}  // namespace

device::Buffer upload_segments(Stream& stream, std::span<const AdamwSegment> segments) {
  check(!segments.empty(), "adamw_update: no segments; pass one a tensor");
  uint32_t end = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    check_segment(segments[i], i);
    end = std::max(end, segments[i].end);
  }
  std::vector<AdamwBlock> blocks(static_cast<size_t>(ceil_div(end, kAdamwBlock)));
  for (size_t i = 0; i < segments.size(); ++i) {
    for (int64_t begin = segments[i].begin; begin < segments[i].end; begin += kAdamwBlock) {
      AdamwBlock& block = blocks[static_cast<size_t>(begin / kAdamwBlock)];
      check(block.elements == 0,
            "adamw_update: segment {} shares the block at element {} with another; give each tensor blocks of its own",
            i, begin);
      block.weight_decay = segments[i].weight_decay;
      block.elements = static_cast<uint32_t>(std::min<int64_t>(kAdamwBlock, segments[i].end - begin));
    }
  }
  const Buffer table =
      stream.device().allocate(static_cast<int64_t>(blocks.size() * sizeof(AdamwBlock)), "adamw_update segments");
  stream.upload(table, std::as_bytes(std::span(blocks)));
  return table;
}

void adamw_update(Stream& stream, const AdamwUpdate& args) {
  check_size("adamw_update", "weights", args.weights, args.count);
  check_size("adamw_update", "gradients", args.gradients, args.count);
  check_size("adamw_update", "m", args.m, args.count);
  check_size("adamw_update", "v", args.v, args.count);
  check_size("adamw_update", "stats", args.stats, 4);
  check(static_cast<bool>(args.segments), "adamw_update: segments is missing; make it with upload_segments");
  const int64_t blocks = args.segments.size_bytes() / static_cast<int64_t>(sizeof(AdamwBlock));
  check(blocks <= ceil_div(args.count, kAdamwBlock),
        "adamw_update: the segments cover {} blocks of {} elements but the slab has {} elements", blocks, kAdamwBlock,
        args.count);
  check_finite("lr", args.lr, true);
  check_finite("beta1", args.beta1, args.beta1 >= 0 && args.beta1 < 1);
  check_finite("beta2", args.beta2, args.beta2 >= 0 && args.beta2 < 1);
  check_finite("one_minus_beta1", args.one_minus_beta1, args.one_minus_beta1 > 0);
  check_finite("one_minus_beta2", args.one_minus_beta2, args.one_minus_beta2 > 0);
  check_finite("eps", args.eps, args.eps > 0);
  check_finite("bias_correction1", args.bias_correction1, args.bias_correction1 > 0);
  check_finite("bias_correction2", args.bias_correction2, args.bias_correction2 > 0);
  const device::KernelCost cost{15.0 * args.count, 28.0 * args.count};
  launch(
      stream, "adamw_update", cost, [&](auto& cpu) { adamw_update_cpu(cpu, args); },
      [&](auto& webgpu) { adamw_update_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> adamw_update_kernels() {
  return {{"adamw_update", "AdamW with decoupled weight decay over a slab of tensors", adamw_update_cases()}};
}

}  // namespace athanor::kernels
