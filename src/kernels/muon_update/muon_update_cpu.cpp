// The small passes of muon_update for the CPU device: vectorised loops, shared among the workers in fixed chunks.
#include "device/cpu/simd.h"
#include "kernels/muon_update/muon_update_internal.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

constexpr int64_t kValuesPerChunk =
    16384;  // 64 KiB an operand: small against a core's L2, large against the cost of a chunk
constexpr float kSmallestNormal = 1.17549435e-38F;

ATHANOR_SIMD_CLONES
void momentum_values(const float* g, float* m, float* x, int64_t count, float momentum, float one_minus_momentum,
                     float clip_scale) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float fresh = one_minus_momentum * (g[i] * clip_scale);
    const float next = momentum * m[i] + fresh;
    m[i] = std::abs(next) < kSmallestNormal ? 0.0F : next;
    x[i] = momentum * m[i] + fresh;
  }
}

ATHANOR_SIMD_CLONES
void scale_values(float* x, int64_t count, float factor) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) x[i] *= factor;
}

/// square = b gram + c square; the diagonal gets its a afterwards.
ATHANOR_SIMD_CLONES
void polynomial_row(const float* gram, float* square, int64_t count) {
  constexpr auto kB = static_cast<float>(kMuonB);
  constexpr auto kC = static_cast<float>(kMuonC);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) square[i] = kB * gram[i] + kC * square[i];
}

ATHANOR_SIMD_CLONES
void apply_values(float* w, const float* x, int64_t count, float keep, float step) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) w[i] = keep * w[i] - step * x[i];
}

}  // namespace

void muon_momentum_cpu(device::cpu::CpuStream& stream, const MuonUpdate& args, const Buffer& x) {
  const float* stats = data<float>(args.stats);
  const float* g = data<float>(args.gradients);
  float* m = data<float>(args.m);
  float* out = data<float>(x);
  const int64_t count = args.rows * args.columns;
  if (stats[2] != 0) {
    std::fill(out, out + count, 0.0F);
    return;
  }
  stream.threads().parallel_for(count, kValuesPerChunk, [&](int64_t begin, int64_t end, int) {
    momentum_values(g + begin, m + begin, out + begin, end - begin, args.momentum, args.one_minus_momentum, stats[1]);
  });
}

void muon_normalize_cpu(device::cpu::CpuStream& stream, const Buffer& x, const Buffer& norm) {
  const float factor = 1.0F / (*data<float>(norm) + static_cast<float>(kMuonEps));
  float* values = data<float>(x);
  stream.threads().parallel_for(x.size_bytes() / 4, kValuesPerChunk, [&](int64_t begin, int64_t end, int) {
    scale_values(values + begin, end - begin, factor);
  });
}

void muon_polynomial_cpu(device::cpu::CpuStream& stream, const Buffer& gram, const Buffer& square, int64_t n) {
  const float* a = data<float>(gram);
  float* p = data<float>(square);
  const int64_t rows = std::max<int64_t>(1, kValuesPerChunk / n);
  stream.threads().parallel_for(n, rows, [&](int64_t begin, int64_t end, int) {
    polynomial_row(a + begin * n, p + begin * n, (end - begin) * n);
    for (int64_t i = begin; i < end; ++i) p[i * n + i] += static_cast<float>(kMuonA);
  });
}

void muon_apply_cpu(device::cpu::CpuStream& stream, const MuonApply& args) {
  if (data<float>(args.stats)[2] != 0) return;
  float* w = data<float>(args.weights);
  const float* x = data<float>(args.direction);
  stream.threads().parallel_for(args.count, kValuesPerChunk, [&](int64_t begin, int64_t end, int) {
    apply_values(w + begin, x + begin, end - begin, args.keep, args.step);
  });
}

}  // namespace athanor::kernels
