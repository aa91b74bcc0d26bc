// Sums by a fixed tree, the norm of all gradients, and what clipping makes of it. Everything stays on the device.
#pragma once

#include <cstdint>

#include <span>

#include "device/device.h"
#include "kernels/accumulate.h"
#include "kernels/segments/segments.h"

namespace athanor::kernels {

inline constexpr int64_t kNormBlock = 4096;  // values a partial sum covers

/// How many partial sums `count` values give.
constexpr int64_t norm_blocks(int64_t count) { return (count + kNormBlock - 1) / kNormBlock; }

struct Sum {
  device::Buffer values;  // (count) f32
  device::Buffer out;     // (1) f32, written or added to
  int64_t count = 0;
  Accumulate accumulate = Accumulate::No;
};

/// out (+)= sum of the values: blocks of kNormBlock, each by a fixed tree, then the blocks; so that a run repeats bit for bit.
void sum(device::Stream& stream, const Sum& args);

/// The blocks of each tensor of a slab, for the norm of each. Blocks do not cross from one tensor to the next.
struct NormTable {
  device::Buffer blocks;   // (block_count, 2) u32: first element and end of a block of at most kNormBlock elements
  device::Buffer tensors;  // (tensor_count, 2) u32: first block and number of blocks
  int64_t block_count = 0;
  int64_t tensor_count = 0;
  int64_t end = 0;  // of the last tensor, in elements
};

/// Throws Error for no segments or one that upload_segments would refuse by itself.
NormTable upload_norm_table(device::Stream& stream, std::span<const Segment> segments);

struct GradientNorm {
  device::Buffer gradients;  // (count) f32: one slab, padding between tensors zero
  int64_t count = 0;
  device::Buffer partial;  // (norm_blocks(count)) f32, written; with tensors given (tensors.block_count)
  NormTable tensors = {};  // may be empty: the norm of each tensor is not asked for
  device::Buffer tensor_sums =
      {};  // (tensors.tensor_count) f32, written: the sum of g^2 of each tensor; empty without tensors
};

/// partial[b] = sum of g^2 over block b: of kNormBlock elements of the slab, or of the table of tensors. A block with a NaN or infinity,
/// found in the bits, or whose sum overflows gives a NaN or infinity, and so does its tensor. Gradients are read once in either case.
/// Several slabs write slices of one buffer; WebGPU wants each slice at a multiple of 256 bytes, gaps filled with zeros.
void gradient_norm_squared(device::Stream& stream, const GradientNorm& args);

struct GradStats {
  device::Buffer partial;  // (partials) f32, from gradient_norm_squared
  int64_t partials = 0;
  float max_norm = 0;      // 0: no clipping
  device::Buffer stats;    // (4) f32, written: norm, clip scale, 1 if flagged else 0, 1 if flagged for its norm alone
  float largest_norm = 0;  // a norm above it is flagged like one that is not finite; 0: any is taken
};

/// norm = sqrt(sum of partial); clip scale = min(1, max_norm / norm). When a partial sum or the whole is not finite, or the norm is above
/// largest_norm: flag 1 and scale 0. Throws Error if max_norm or largest_norm is negative or not finite.
void finalize_grad_stats(device::Stream& stream, const GradStats& args);

}  // namespace athanor::kernels
