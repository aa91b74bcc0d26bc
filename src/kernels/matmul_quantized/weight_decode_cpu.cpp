// ggml's blocks to f32, one function a type. The loops run over bytes of equal meaning, so that the compiler widens them.
#include "kernels/matmul_quantized/weight_decode_cpu.h"

#include "device/cpu/simd.h"
#include "kernels/dequantize/affine_decode_cpu.h"
#include "kernels/matmul_quantized/weight_blocks.h"

#include <cstring>

namespace athanor::kernels {

namespace {

float half_at(const uint8_t* bytes) {
  uint16_t half = 0;
  std::memcpy(&half, bytes, 2);  // blocks stand at any even byte
  return half_value(half);
}

/// d, then 32 signed bytes: d * q.
ATHANOR_SIMD_CLONES
void decode_q8_0(const uint8_t* block, float* out) {
  const float d = half_at(block);
  const uint8_t* q = block + 2;
#pragma omp simd
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(static_cast<int8_t>(q[i]));
}

/// 16 bytes hold 32 values: the lower halves are the first 16 of them, the upper halves the last: scale * q + bias.
ATHANOR_INLINE void decode_nibbles(const uint8_t* q, int count, float scale, float bias, float scale_high,
                                   float bias_high, float* out) {
#pragma omp simd
  for (int i = 0; i < count; ++i) {
    out[i] = scale * static_cast<float>(q[i] & 15) + bias;
    out[count + i] = scale_high * static_cast<float>(q[i] >> 4) + bias_high;
  }
}

/// d, then 16 bytes: d * (q - 8).
ATHANOR_SIMD_CLONES
void decode_q4_0(const uint8_t* block, float* out) {
  const float d = half_at(block);
  decode_nibbles(block + 2, 16, d, -8 * d, d, -8 * d, out);
}

/// d, m, then 16 bytes: d * q + m.
ATHANOR_SIMD_CLONES
void decode_q4_1(const uint8_t* block, float* out) {
  const float d = half_at(block);
  const float m = half_at(block + 2);
  decode_nibbles(block + 4, 16, d, m, d, m, out);
}

/// d, dmin, twelve bytes with eight scales and eight minima of six bits, then 128 bytes: d * scale * q - dmin * minimum, in eight
/// parts of 32 values. 32 bytes hold two parts, the lower halves the first.
ATHANOR_SIMD_CLONES
void decode_q4_k(const uint8_t* block, float* out) {
  const float d = half_at(block);
  const float d_min = half_at(block + 2);
  const uint8_t* packed = block + 4;
  float scales[8];
  float biases[8];
  for (int i = 0; i < 4; ++i) {
    // The first four stand in six bits of a byte; the last four in four bits of one and two of the others.
    scales[i] = d * static_cast<float>(packed[i] & 63);
    biases[i] = -d_min * static_cast<float>(packed[i + 4] & 63);
    scales[i + 4] = d * static_cast<float>((packed[i + 8] & 15) | (packed[i] >> 6) << 4);
    biases[i + 4] = -d_min * static_cast<float>((packed[i + 8] >> 4) | (packed[i + 4] >> 6) << 4);
  }
  for (int i = 0; i < 8; i += 2) {
    decode_nibbles(block + 16 + 16 * i, 32, scales[i], biases[i], scales[i + 1], biases[i + 1], out + 32 * i);
  }
}

/// 128 bytes with four low bits, 64 with two high bits, sixteen signed scales, d: d * scale * (q - 32), a scale for 16 values. Each
/// half of a block has four rows of 32 values: 64 low bytes hold rows 0 and 1 below, 2 and 3 above; 32 high bytes hold two bits of each.
ATHANOR_SIMD_CLONES
void decode_q6_k(const uint8_t* block, float* out) {
  const float d = half_at(block + 208);
  for (int half = 0; half < 2; ++half) {
    const uint8_t* high = block + 128 + 32 * half;
    for (int row = 0; row < 4; ++row) {
      const uint8_t* low = block + 64 * half + 32 * (row % 2);
      const int low_shift = 4 * (row / 2);
      const uint8_t* scales = block + 192 + 8 * half + 2 * row;
      const float scale_0 = d * static_cast<float>(static_cast<int8_t>(scales[0]));
      const float scale_1 = d * static_cast<float>(static_cast<int8_t>(scales[1]));
      float* row_out = out + 128 * half + 32 * row;
#pragma omp simd
      for (int i = 0; i < 32; ++i) {
        const int q = (low[i] >> low_shift & 15) | (high[i] >> (2 * row) & 3) << 4;
        row_out[i] = (i < 16 ? scale_0 : scale_1) * static_cast<float>(q - 32);
      }
    }
  }
}

using DecodeBlock = void (*)(const uint8_t* block, float* out);

DecodeBlock decoder_of(WeightFormat format) {
  switch (format) {
    case WeightFormat::Q8_0:
      return decode_q8_0;
    case WeightFormat::Q6_K:
      return decode_q6_k;
    case WeightFormat::Q4_0:
      return decode_q4_0;
    case WeightFormat::Q4_1:
      return decode_q4_1;
    case WeightFormat::Q4_K:
    case WeightFormat::Affine:
      break;
  }
  return decode_q4_k;
}

}  // namespace

void decode_rows(const PackedWeights& weights, int64_t first, int64_t rows, float* out) {
  if (weights.format == WeightFormat::Affine) {
    const int64_t groups = weights.k / weights.layout.group;
    decode_affine_groups(weights.layout, weights.w, weights.scales, weights.biases, first * groups, rows * groups, out);
    return;
  }
  const WeightBlocks& blocks = weight_blocks(weights.format);
  const int64_t blocks_of_row = weights.k / blocks.values;
  const DecodeBlock decode = decoder_of(weights.format);
  const uint8_t* block = weights.w + first * blocks_of_row * blocks.bytes;
  for (int64_t i = 0; i < rows * blocks_of_row; ++i) decode(block + i * blocks.bytes, out + i * blocks.values);
}

}  // namespace athanor::kernels
