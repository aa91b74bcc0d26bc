// adamw_8bit_update for the CPU device: blocks shared among the workers, each block in a few vectorised passes over memory of the stack.
#include "device/cpu/simd.h"
#include "kernels/adamw_8bit_update/adamw_8bit_update_internal.h"
#include "kernels/adamw_8bit_update/dynamic_code.h"
#include "kernels/adamw_update/adamw_update_internal.h"

#include <algorithm>

namespace athanor::kernels {

using device::cpu::data;

namespace {

constexpr int64_t kBlocksPerChunk = 32;  // 8192 elements, 96 KiB

/// Moments of one block in f32.
struct Moments {
  alignas(64) float m[kAdamw8bitBlock];
  alignas(64) float v[kAdamw8bitBlock];
};

ATHANOR_SIMD_CLONES
void decode(const uint8_t* codes, const float* values, float scale, float* out, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = values[codes[i]] * scale;
}

ATHANOR_SIMD_CLONES
float largest_size(const float* values, int64_t count) {
  float largest = 0;
#pragma omp simd reduction(max : largest)
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(values[i]));
  return largest;
}

ATHANOR_SIMD_CLONES
void encode_m(const float* m, float inverse, uint8_t* codes, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) codes[i] = static_cast<uint8_t>(encoded_m(m[i] * inverse));
}

ATHANOR_SIMD_CLONES
void encode_v(const float* v, float inverse, uint8_t* codes, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) codes[i] = static_cast<uint8_t>(encoded_v(v[i] * inverse));
}

float inverse_of(float scale) { return scale > 0 ? 1.0F / scale : 0.0F; }

/// The buffers of a launch as pointers.
struct Slab {
  float* weights;
  const float* gradients;
  uint8_t* m_codes;
  uint8_t* v_codes;
  const float* code_values;  // of m, then of v
};

/// scales: of this block, m's and v's.
void update_block(const Slab& slab, const Adamw8bitBlock& block, float* scales, const AdamwRates& rates) {
  Moments moments;
  const int64_t first = block.first;
  const int64_t count = block.elements;
  decode(slab.m_codes + first, slab.code_values, scales[0], moments.m, count);
  decode(slab.v_codes + first, slab.code_values + 256, scales[1], moments.v, count);
  adamw_values(slab.weights + first, slab.gradients + first, moments.m, moments.v, count, block.weight_decay, rates);
  scales[0] = largest_size(moments.m, count);
  scales[1] = largest_size(moments.v, count);
  encode_m(moments.m, inverse_of(scales[0]), slab.m_codes + first, count);
  encode_v(moments.v, inverse_of(scales[1]), slab.v_codes + first, count);
}

}  // namespace

void adamw_8bit_update_cpu(device::cpu::CpuStream& stream, const Adamw8bitUpdate& args) {
  const float* stats = data<float>(args.stats);
  if (stats[2] != 0) return;
  const AdamwRates rates = adamw_rates(args, stats[1]);
  const Slab slab{data<float>(args.weights), data<float>(args.gradients), data<uint8_t>(args.m_codes),
                  data<uint8_t>(args.v_codes), data<float>(args.blocks.table)};
  const Adamw8bitBlock* blocks = data<Adamw8bitBlock>(args.blocks.table) + kCodeRows;
  float* scales = data<float>(args.scales);
  uint32_t* mirror = args.mirror ? data<uint32_t>(args.mirror) : nullptr;
  stream.threads().parallel_for(args.blocks.count, kBlocksPerChunk, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      update_block(slab, blocks[i], scales + 2 * i, rates);
      if (mirror != nullptr) mirror_weights(slab.weights, mirror, blocks[i].first, blocks[i].elements);
    }
  });
}

}  // namespace athanor::kernels
