// rope for the CPU device: rows shared among the workers, the pairs of a head in one vectorised loop.
#include "device/cpu/simd.h"
#include "kernels/rope/rope_internal.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

constexpr int64_t kRowsPerChunk = 32;

ATHANOR_SIMD_CLONES
void rotate_row(const float* __restrict x, const float* __restrict angles, float* __restrict out, int64_t heads,
                int64_t half, float sign) {
  const float* cosine = angles;
  const float* sine = angles + half;
  for (int64_t h = 0; h < heads; ++h) {
    const float* first = x + h * 2 * half;
    const float* second = first + half;
    float* out_first = out + h * 2 * half;
    float* out_second = out_first + half;
#pragma omp simd
    for (int64_t i = 0; i < half; ++i) {
      const float s = sign * sine[i];
      out_first[i] = first[i] * cosine[i] - second[i] * s;
      out_second[i] = second[i] * cosine[i] + first[i] * s;
    }
  }
}

}  // namespace

void rope_cpu(device::cpu::CpuStream& stream, const Rope& args, float sign) {
  const float* x = data<float>(args.x);
  const float* table = data<float>(args.table);
  float* out = data<float>(args.out);
  const int64_t columns = args.heads * args.head_dim;
  stream.threads().parallel_for(args.rows, kRowsPerChunk, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t position = args.first_position + row % args.length;
      rotate_row(x + row * columns, table + position * args.head_dim, out + row * columns, args.heads,
                 args.head_dim / 2, sign);
    }
  });
}

}  // namespace athanor::kernels
