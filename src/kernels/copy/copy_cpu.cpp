// copy for the CPU device: pieces of the last dimension shared among the workers.
#include <cstring>

#include "kernels/copy/copy_internal.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

constexpr int64_t kElementsPerPiece = 16384;  // of a row, and about as many of short rows go to a worker at once

void copy_piece(const uint32_t* source, uint32_t* out, int64_t count, int64_t source_stride, int64_t out_stride) {
  if (source_stride == 1 && out_stride == 1) {
    std::memcpy(out, source, static_cast<size_t>(count) * sizeof(uint32_t));
    return;
  }
  for (int64_t i = 0; i < count; ++i) out[i * out_stride] = source[i * source_stride];
}

/// Where row `row` begins: its indices in the first three dimensions times their strides.
int64_t start_of(int64_t row, const std::array<int64_t, 4>& sizes, const std::array<int64_t, 4>& strides) {
  const int64_t third = row % sizes[2];
  const int64_t second = row / sizes[2] % sizes[1];
  const int64_t first = row / sizes[2] / sizes[1];
  return first * strides[0] + second * strides[1] + third * strides[2];
}

}  // namespace

void copy_cpu(device::cpu::CpuStream& stream, const Copy& args) {
  const uint32_t* source = data<uint32_t>(args.source) + args.source_offset;
  uint32_t* out = data<uint32_t>(args.out) + args.out_offset;
  const int64_t length = args.sizes[3];
  const int64_t pieces = ceil_div(length, kElementsPerPiece);  // of a row
  const int64_t rows = args.sizes[0] * args.sizes[1] * args.sizes[2];
  const int64_t at_once = std::max<int64_t>(1, kElementsPerPiece / length);
  stream.threads().parallel_for(rows * pieces, at_once, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / pieces;
      const int64_t first = i % pieces * kElementsPerPiece;
      copy_piece(source + start_of(row, args.sizes, args.source_strides) + first * args.source_strides[3],
                 out + start_of(row, args.sizes, args.out_strides) + first * args.out_strides[3],
                 std::min(kElementsPerPiece, length - first), args.source_strides[3], args.out_strides[3]);
    }
  });
}

}  // namespace athanor::kernels
