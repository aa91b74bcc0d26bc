// The table of segments: made on the host, checked by every kernel that reads it.
#include "kernels/segments/segments.h"

#include "kernels/launch.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace athanor::kernels {

void check_segment(const Segment& segment, size_t index) {
  check(segment.begin % kSegmentBlock == 0, "segments: segment {} begins at element {}; begin at a multiple of {}",
        index, segment.begin, kSegmentBlock);
  check(segment.begin < segment.end, "segments: segment {} goes from element {} to {}; pass at least one element",
        index, segment.begin, segment.end);
  check(std::isfinite(segment.weight_decay) && segment.weight_decay >= 0,
        "segments: segment {} has a weight decay of {}; pass a finite number of at least 0", index,
        segment.weight_decay);
}

device::Buffer upload_segments(Stream& stream, std::span<const Segment> segments) {
  check(!segments.empty(), "segments: none were given; pass one a tensor");
  uint32_t end = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    check_segment(segments[i], i);
    end = std::max(end, segments[i].end);
  }
  std::vector<SegmentBlock> blocks(static_cast<size_t>(ceil_div(end, kSegmentBlock)));
  for (size_t i = 0; i < segments.size(); ++i) {
    for (int64_t begin = segments[i].begin; begin < segments[i].end; begin += kSegmentBlock) {
      SegmentBlock& block = blocks[static_cast<size_t>(begin / kSegmentBlock)];
      check(block.elements == 0,
            "segments: segment {} shares the block at element {} with another; give each tensor blocks of its own", i,
            begin);
      block.weight_decay = segments[i].weight_decay;
      block.elements = static_cast<uint32_t>(std::min<int64_t>(kSegmentBlock, segments[i].end - begin));
    }
  }
  const Buffer table =
      stream.device().allocate(static_cast<int64_t>(blocks.size() * sizeof(SegmentBlock)), "segments of a slab");
  stream.upload(table, std::as_bytes(std::span(blocks)));
  return table;
}

int64_t segment_blocks(const Buffer& table) { return table.size_bytes() / static_cast<int64_t>(sizeof(SegmentBlock)); }

void check_segments(std::string_view kernel, const Buffer& table, int64_t count) {
  check(static_cast<bool>(table), "{}: segments is missing; make it with upload_segments", kernel);
  check(segment_blocks(table) <= ceil_div(count, kSegmentBlock),
        "{}: the segments cover {} blocks of {} elements but the slab has {} elements", kernel, segment_blocks(table),
        kSegmentBlock, count);
}

}  // namespace athanor::kernels
