// The elements of a slab on the CPU device: neighbouring blocks of one weight decay are taken together, so that the inner loops are
// long, and the chunks that the workers share are the same for any number of threads.
#pragma once

#include "kernels/launch.h"
#include "kernels/segments/segments.h"

namespace athanor::kernels {

// 8192 elements: 32 KiB of each slab, so that the four of AdamW stay in a core's second-level cache.
inline constexpr int64_t kSegmentBlocksPerChunk = 128;

/// The block after the run of whole blocks with one decay that begins at `block`; a block that is not whole is a run of its own.
inline int64_t end_of_run(const SegmentBlock* table, int64_t block, int64_t end) {
  const SegmentBlock first = table[block];
  int64_t after = block + 1;
  if (first.elements != kSegmentBlock) return after;
  while (after < end && table[after].elements == kSegmentBlock && table[after].weight_decay == first.weight_decay)
    ++after;
  return after;
}

/// body(first element, number of elements, weight decay) for all elements of all segments, in parallel.
template <typename Body>
void for_each_run(device::cpu::CpuStream& stream, const Buffer& segments, Body body) {
  const SegmentBlock* table = device::cpu::data<SegmentBlock>(segments);
  stream.threads().parallel_for(segment_blocks(segments), kSegmentBlocksPerChunk, [&](int64_t begin, int64_t end, int) {
    for (int64_t block = begin; block < end;) {
      const int64_t after = end_of_run(table, block, end);
      const int64_t count = (after - block - 1) * kSegmentBlock + table[block].elements;
      if (count > 0) body(block * kSegmentBlock, count, table[block].weight_decay);
      block = after;
    }
  });
}

}  // namespace athanor::kernels
