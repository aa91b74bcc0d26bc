// The door of adamw_8bit_update: the table of blocks, checks, choice of device, its benchmark, and its entry in the table of kernels.
#include "kernels/adamw_8bit_update/adamw_8bit_update.h"

#include "kernels/adamw_8bit_update/adamw_8bit_update_internal.h"
#include "kernels/adamw_8bit_update/adamw_8bit_update_reference.h"
#include "kernels/adamw_8bit_update/dynamic_code.h"
#include "kernels/adamw_update/adamw_update_internal.h"
#include "kernels/bench_values.h"
#include "kernels/fp32_to_fp16/fp32_to_fp16.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace athanor::kernels {

namespace {

constexpr const char* kName = "adamw_8bit_update";

device::KernelCost cost_of(const Adamw8bitUpdate& args) {
  const double bytes_each = args.mirror ? 18 : 16;  // weights and codes in and out, gradients in
  return {60.0 * args.count, bytes_each * args.count + 32.0 * args.blocks.count};
}

std::vector<Adamw8bitBlock> blocks_of(std::span<const Segment> segments) {
  std::vector<Adamw8bitBlock> blocks;
  for (const Segment& segment : segments) {
    for (int64_t first = segment.begin; first < segment.end; first += kAdamw8bitBlock) {
      const int64_t elements = std::min<int64_t>(kAdamw8bitBlock, segment.end - first);
      blocks.push_back({static_cast<uint32_t>(first), static_cast<uint32_t>(elements), segment.weight_decay, 0});
    }
  }
  return blocks;
}

/// Two tensors that share elements would share codes. Apart they do not even share a word, as each begins at a multiple of 64.
void check_apart(std::span<const Segment> segments) {
  std::vector<Segment> sorted(segments.begin(), segments.end());
  std::sort(sorted.begin(), sorted.end(), [](const Segment& a, const Segment& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < sorted.size(); ++i) {
    check(sorted[i - 1].end <= sorted[i].begin,
          "segments: the one that begins at element {} lies within the one from {} to {}; give each tensor elements of "
          "its own",
          sorted[i].begin, sorted[i - 1].begin, sorted[i - 1].end);
  }
}

KernelBench bench_8bit(Stream& stream, int64_t bytes) {
  Adamw8bitUpdate args;
  args.count = bytes / 4;
  args.weights = bench_values(stream, args.count, 1);
  args.gradients = bench_values(stream, args.count, 2);
  args.blocks = upload_8bit_blocks(stream, std::vector<Segment>{{0, to_u32(args.count, kName), 0.1F}});
  args.m_codes = bench_zeros(stream, code_words(args.count));
  args.v_codes = bench_zeros(stream, code_words(args.count));
  args.scales = bench_zeros(stream, args.blocks.count * 2);
  args.stats = upload_values(stream, std::vector<float>{1, 1, 0, 0});
  args.lr = 1e-6F;
  return {fmt::format("count {}", args.count), cost_of(args), [&stream, args] { adamw_8bit_update(stream, args); }};
}

}  // namespace

Adamw8bitBlocks upload_8bit_blocks(Stream& stream, std::span<const Segment> segments) {
  check(!segments.empty(), "segments: none were given; pass one a tensor");
  Adamw8bitBlocks result;
  for (size_t i = 0; i < segments.size(); ++i) {
    check_segment(segments[i], i);
    result.end = std::max<int64_t>(result.end, segments[i].end);
  }
  check_apart(segments);
  const std::vector<Adamw8bitBlock> blocks = blocks_of(segments);
  const std::array<float, 256> m_values = m_code_values();
  const std::array<float, 256> v_values = v_code_values();
  std::vector<std::byte> table(sizeof(m_values) + sizeof(v_values) + blocks.size() * sizeof(Adamw8bitBlock));
  std::memcpy(table.data(), m_values.data(), sizeof(m_values));
  std::memcpy(table.data() + sizeof(m_values), v_values.data(), sizeof(v_values));
  std::memcpy(table.data() + sizeof(m_values) + sizeof(v_values), blocks.data(),
              blocks.size() * sizeof(Adamw8bitBlock));
  result.count = static_cast<int64_t>(blocks.size());
  result.table = stream.device().allocate(static_cast<int64_t>(table.size()), "blocks of 8-bit moments");
  stream.upload(result.table, table);
  return result;
}

void adamw_8bit_update(Stream& stream, const Adamw8bitUpdate& args) {
  check(static_cast<bool>(args.blocks.table), "adamw_8bit_update: blocks is missing; make it with upload_8bit_blocks");
  check(args.blocks.end <= args.count,
        "adamw_8bit_update: the blocks end at element {} but the slab has {}; pass the table of this slab",
        args.blocks.end, args.count);
  check_size(kName, "weights", args.weights, args.count);
  check_size(kName, "gradients", args.gradients, args.count);
  check_size(kName, "m_codes", args.m_codes, code_words(args.count));
  check_size(kName, "v_codes", args.v_codes, code_words(args.count));
  check_size(kName, "scales", args.scales, args.blocks.count * 2);
  check_size(kName, "stats", args.stats, 4);
  if (args.mirror) check_size(kName, "mirror", args.mirror, half_words(args.count));
  check_adamw_step(kName, args);
  const device::KernelCost cost = cost_of(args);
  launch(
      stream, kName, cost, [&](auto& cpu) { adamw_8bit_update_cpu(cpu, args); },
      [&](auto& webgpu) { adamw_8bit_update_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> adamw_8bit_update_kernels() {
  return {{kName, "AdamW with the moments in 8 bits, by blocks of 256 with a scale each", adamw_8bit_update_cases(),
           bench_8bit}};
}

}  // namespace athanor::kernels
