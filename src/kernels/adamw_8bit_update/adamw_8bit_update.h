// AdamW over a slab with the moments in 8 bits: a quarter of their memory, in one launch.
#pragma once

#include "kernels/adamw_update/adamw_update.h"

#include <span>

namespace athanor::kernels {

inline constexpr int64_t kAdamw8bitBlock = 256;  // elements that share a scale

/// The blocks of a slab: each tensor is cut into blocks of kAdamw8bitBlock elements from its own beginning, the last one shorter, so
/// that no two tensors share a scale. Blocks are numbered through the tensors in the order in which they were given.
struct Adamw8bitBlocks {
  device::Buffer
      table;  // (128 + count, 4) u32: the values of both codes, then first element, number, decay (f32 bits), 0 of each block
  int64_t count = 0;
  int64_t end = 0;  // of the last tensor, in elements
};

/// Throws Error for no segments, or for one that upload_segments would refuse.
Adamw8bitBlocks upload_8bit_blocks(device::Stream& stream, std::span<const Segment> segments);

/// How many u32 hold the codes of `count` elements.
constexpr int64_t code_words(int64_t count) { return (count + 3) / 4; }

struct Adamw8bitUpdate : AdamwStep {
  device::Buffer weights;    // (count) f32, in and out
  device::Buffer gradients;  // (count) f32
  device::Buffer m_codes;    // (code_words(count)) u32, in and out; four codes each, the first in the lowest byte
  device::Buffer v_codes;    // (code_words(count)) u32, in and out
  device::Buffer
      scales;  // (blocks.count, 2) f32, in and out: the largest |m| and v; zeros before the first step (codes: anything)
  Adamw8bitBlocks blocks;  // from upload_8bit_blocks
  device::Buffer
      stats;  // (4) f32 from finalize_grad_stats: gradients are multiplied by the clip scale; flag set: nothing changes
  device::Buffer mirror;  // (half_words(count)) u32, the weights as f16, written wherever a weight is; may be empty
  int64_t count = 0;
};

/// The step of adamw_update on moments that are decoded (code's value times the block's scale), moved and used in f32, and coded again
/// by the nearest of 256 values, denser near zero: m with a sign, v without. A v above zero is never coded as zero. Weights outside all
/// blocks are not touched.
/// Throws Error if a buffer's size is not as in Adamw8bitUpdate. Source: Dettmers et al. 2022, arXiv:2110.02861.
void adamw_8bit_update(device::Stream& stream, const Adamw8bitUpdate& args);

}  // namespace athanor::kernels
