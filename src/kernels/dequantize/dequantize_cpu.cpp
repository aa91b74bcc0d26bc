// dequantize and affine_dequantize for the CPU device: plain loops over bytes, which the compiler widens into vectors.
#include "device/cpu/simd.h"
#include "kernels/dequantize/affine_decode_cpu.h"
#include "kernels/dequantize/dequantize_internal.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

constexpr int64_t kValuesPerChunk = 1 << 15;

ATHANOR_SIMD_CLONES
void widen(const uint8_t* q, float* out, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(q[i]);
}

ATHANOR_SIMD_CLONES
void affine_bytes(const uint8_t* q, float* out, int64_t count, float scale, float bias) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(q[i]) * scale + bias;
}

/// Two values a byte, the lower four bits first.
ATHANOR_SIMD_CLONES
void affine_nibbles(const uint8_t* q, float* out, int64_t count, float scale, float bias) {
#pragma omp simd
  for (int64_t i = 0; i < count / 2; ++i) {
    out[2 * i] = static_cast<float>(q[i] & 15) * scale + bias;
    out[2 * i + 1] = static_cast<float>(q[i] >> 4) * scale + bias;
  }
}

}  // namespace

void decode_affine_groups(const AffineLayout& layout, const uint8_t* q, const void* scales, const void* biases,
                          int64_t first, int64_t groups, float* out) {
  const auto decode = layout.bits == 8 ? affine_bytes : affine_nibbles;
  for (int64_t i = 0; i < groups; ++i) {
    decode(q + (first + i) * layout.group * layout.bits / 8, out + i * layout.group, layout.group,
           affine_scale_at(scales, first + i, layout.scale_type),
           affine_scale_at(biases, first + i, layout.scale_type));
  }
}

void dequantize_cpu(device::cpu::CpuStream& stream, const Dequantize& args) {
  const uint8_t* q = data<uint8_t>(args.q);
  float* out = data<float>(args.out);
  stream.threads().parallel_for(args.count, kValuesPerChunk,
                                [&](int64_t begin, int64_t end, int) { widen(q + begin, out + begin, end - begin); });
}

void affine_dequantize_cpu(device::cpu::CpuStream& stream, const AffineDequantize& args) {
  const AffineLayout& layout = args.layout;
  const uint8_t* q = data<uint8_t>(args.q);
  const void* scales = device::cpu::raw_data(args.scales);
  const void* biases = device::cpu::raw_data(args.biases);
  float* out = data<float>(args.out);
  const int64_t groups = args.rows * args.columns / layout.group;
  stream.threads().parallel_for(groups, kValuesPerChunk / layout.group, [&](int64_t begin, int64_t end, int) {
    decode_affine_groups(layout, q, scales, biases, begin, end - begin, out + begin * layout.group);
  });
}

}  // namespace athanor::kernels
