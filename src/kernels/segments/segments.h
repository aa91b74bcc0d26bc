// The table of segments that the optimizer kernels read: which elements of a slab belong to a tensor, and its weight decay.
#pragma once

#include "device/device.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace athanor::kernels {

inline constexpr int64_t kSegmentBlock = 64;  // elements (256 bytes): tensors begin at multiples of it within a slab

/// One tensor of a slab.
struct Segment {
  uint32_t begin = 0;  // elements within the slab, a multiple of kSegmentBlock
  uint32_t end = 0;
  float weight_decay = 0;
};

/// One block of kSegmentBlock elements as it lies in the table: two words.
struct SegmentBlock {
  float weight_decay = 0;
  uint32_t elements = 0;  // how many of its first elements belong to a tensor
};
static_assert(sizeof(SegmentBlock) == 8);

/// The table on the device: a SegmentBlock for each kSegmentBlock elements up to the end of the last tensor.
/// Throws Error for no segments, a begin that is no multiple, an empty segment, two that share a block, or a decay that is not a finite
/// number of at least 0.
device::Buffer upload_segments(device::Stream& stream, std::span<const Segment> segments);

/// Throws Error for one of those, by itself.
void check_segment(const Segment& segment, size_t index);

/// How many blocks a table has.
int64_t segment_blocks(const device::Buffer& table);

/// Throws Error unless the table is there and covers no more than a slab of `count` elements.
void check_segments(std::string_view kernel, const device::Buffer& table, int64_t count);

}  // namespace athanor::kernels
