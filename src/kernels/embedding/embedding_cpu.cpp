// embedding for the CPU device: copies of rows; the gradient walks each id's positions in order, ids shared among the workers.
#include <cstring>

#include "device/cpu/simd.h"
#include "kernels/embedding/embedding_internal.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

constexpr int64_t kRowsPerChunk = 32;
constexpr int64_t kIdsPerChunk = 32;  // frequent tokens come early in a trained vocabulary: small chunks spread them

ATHANOR_SIMD_CLONES
void add_row(const float* from, float* into, int64_t columns) {
#pragma omp simd
  for (int64_t c = 0; c < columns; ++c) into[c] += from[c];
}

}  // namespace

void embedding_cpu(device::cpu::CpuStream& stream, const Embedding& args) {
  const float* table = data<float>(args.table);
  const uint32_t* ids = data<uint32_t>(args.ids);
  float* out = data<float>(args.out);
  const int64_t columns = args.columns;
  stream.threads().parallel_for(args.rows, kRowsPerChunk, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      float* out_row = out + row * columns;
      if (ids[row] < args.vocabulary) {
        std::memcpy(out_row, table + ids[row] * columns, static_cast<size_t>(columns) * sizeof(float));
      } else {
        std::fill(out_row, out_row + columns, 0.0F);
      }
    }
  });
}

void embedding_backward_cpu(device::cpu::CpuStream& stream, const EmbeddingBackward& args) {
  const float* d_out = data<float>(args.d_out);
  const uint32_t* starts = data<uint32_t>(args.order);
  const uint32_t* positions = starts + args.vocabulary + 1;
  float* d_table = data<float>(args.d_table);
  const int64_t columns = args.columns;
  stream.threads().parallel_for(args.vocabulary, kIdsPerChunk, [&](int64_t begin, int64_t end, int) {
    for (int64_t id = begin; id < end; ++id) {
      float* row = d_table + id * columns;
      if (args.accumulate == Accumulate::No) std::fill(row, row + columns, 0.0F);
      for (uint32_t i = starts[id]; i < starts[id + 1]; ++i) add_row(d_out + positions[i] * columns, row, columns);
    }
  });
}

}  // namespace athanor::kernels
