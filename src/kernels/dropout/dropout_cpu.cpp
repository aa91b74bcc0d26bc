// dropout for the CPU device: chunks of 512 elements of a row (64 blocks of random words) shared among the workers. The words of a chunk are
// drawn side by side in vectorised loops, in which base/random's function of one block has no place; then 256 values at a time are kept or
// dropped.
#include <algorithm>

#include "base/random.h"
#include "device/cpu/simd.h"
#include "kernels/dropout/dropout_internal.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

constexpr int64_t kBlocks = 64;                // of a chunk
constexpr int64_t kHalf = kBlocks * 4;         // elements whose numbers' high halves are one half of the words
constexpr int64_t kElements = 2 * kHalf;       // of a chunk
constexpr int64_t kChunksAtOnce = 32;          // a worker's share: 64 KiB of values
constexpr uint32_t kSecondCall = 0x80000000U;  // added to a block where the high half does not decide

using Counter = std::array<uint32_t, 4>;

uint32_t half_of(uint32_t word, int64_t half) { return half == 0 ? word & 0xffffU : word >> 16; }

/// philox4x32 of base/random for the counters {first_block + b, row, step, layer}, b below `blocks`: word w of block b at words[b * 4 + w].
ATHANOR_SIMD_CLONES
void draw_words(uint32_t first_block, int64_t blocks, uint32_t row, const DropoutMask& mask, uint32_t* words) {
  uint32_t c0[kBlocks];
  uint32_t c1[kBlocks];
  uint32_t c2[kBlocks];
  uint32_t c3[kBlocks];
  for (int64_t b = 0; b < blocks; ++b) {
    c0[b] = first_block + static_cast<uint32_t>(b);
    c1[b] = row;
    c2[b] = mask.step;
    c3[b] = mask.layer;
  }
  uint32_t key0 = mask.key[0];
  uint32_t key1 = mask.key[1];
  for (int round = 0; round < 10; ++round) {
#pragma omp simd
    for (int64_t b = 0; b < blocks; ++b) {
      const uint64_t product0 = uint64_t{0xD2511F53} * c0[b];
      const uint64_t product1 = uint64_t{0xCD9E8D57} * c2[b];
      c0[b] = static_cast<uint32_t>(product1 >> 32) ^ c1[b] ^ key0;
      c1[b] = static_cast<uint32_t>(product1);
      c2[b] = static_cast<uint32_t>(product0 >> 32) ^ c3[b] ^ key1;
      c3[b] = static_cast<uint32_t>(product0);
    }
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  for (int64_t b = 0; b < blocks; ++b) {
    words[b * 4] = c0[b];
    words[b * 4 + 1] = c1[b];
    words[b * 4 + 2] = c2[b];
    words[b * 4 + 3] = c3[b];
  }
}

/// Keeps or drops by the numbers' high halves. True if one of them is the threshold's and so does not decide.
ATHANOR_SIMD_CLONES
bool drop_by_high_half(const float* x, float* out, const uint32_t* words, int64_t count, int shift, uint32_t top,
                       float scale) {
  uint32_t undecided = 0;
#pragma omp simd reduction(| : undecided)
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t high = words[i] >> shift & 0xffffU;
    out[i] = high > top ? x[i] * scale : 0.0F;
    undecided |= high == top ? 1U : 0U;
  }
  return undecided != 0;
}

/// The elements whose high half is the threshold's, by their low half.
void decide_rest(const float* x, float* out, const uint32_t* words, int64_t count, int64_t half, Counter counter,
                 const DropoutMask& mask) {
  const uint32_t first_block = counter[0] | kSecondCall;
  for (int64_t i = 0; i < count; ++i) {
    if (half_of(words[i], half) != mask.threshold >> 16) continue;
    counter[0] = first_block + static_cast<uint32_t>(i / 4);
    const Counter second = philox4x32(counter, mask.key);
    const bool keeps = half_of(second[static_cast<size_t>(i % 4)], half) >= (mask.threshold & 0xffffU);
    out[i] = keeps ? x[i] * mask.scale : 0.0F;
  }
}

/// `count` elements of a row that begin where chunk `chunk` does.
void drop_chunk(const float* x, float* out, int64_t count, int64_t chunk, uint32_t row, const DropoutMask& mask) {
  std::array<uint32_t, kHalf> words;
  const auto first_block = static_cast<uint32_t>(chunk * kBlocks);
  draw_words(first_block, std::min(kBlocks, ceil_div(count, 4)), row, mask, words.data());
  for (int64_t half = 0; half * kHalf < count; ++half) {
    const float* x_half = x + half * kHalf;
    float* out_half = out + half * kHalf;
    const int64_t length = std::min(kHalf, count - half * kHalf);
    const bool undecided = drop_by_high_half(x_half, out_half, words.data(), length, static_cast<int>(half * 16),
                                             mask.threshold >> 16, mask.scale);
    if (undecided) {
      decide_rest(x_half, out_half, words.data(), length, half, {first_block, row, mask.step, mask.layer}, mask);
    }
  }
}

}  // namespace

void dropout_cpu(device::cpu::CpuStream& stream, const Dropout& args, const DropoutMask& mask) {
  const float* x = data<float>(args.x);
  float* out = data<float>(args.out);
  const int64_t chunks_of_row = ceil_div(args.columns, kElements);
  stream.threads().parallel_for(args.rows * chunks_of_row, kChunksAtOnce, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / chunks_of_row;
      const int64_t chunk = i % chunks_of_row;
      const int64_t start = row * args.columns + chunk * kElements;
      drop_chunk(x + start, out + start, std::min(kElements, args.columns - chunk * kElements), chunk,
                 mask.first_row + static_cast<uint32_t>(row), mask);
    }
  });
}

}  // namespace athanor::kernels
