// Counter-based random numbers (Philox4x32-10): a value is a function of its key and counter alone, so
// that a run repeats and resumes to the bit. Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
#pragma once

#include <array>
#include <cstdint>

namespace athanor {

/// Purposes that must never share numbers; part of the key.
enum class RandomStream : uint32_t { Weights = 1, Shuffle = 2, Dropout = 3, Sampling = 4, Split = 5, Test = 6 };

/// Four 32-bit words for one counter under one key.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Random numbers keyed by (seed, stream, a, b) and an index: the words of philox4x32({index / 4, b, a low, a high},
/// key), where the key is the first two words of philox4x32({seed low, seed high, stream, 0}, {0, 0}). No state but the
/// next index; 2^34 words, then again.
class Random {
 public:
  Random(uint64_t seed, RandomStream stream, uint64_t a = 0, uint32_t b = 0);

  uint32_t next_u32();
  uint64_t next_u64();
  /// Uniform in [0, 1) with 24 bits.
  float uniform();
  /// Uniform in [0, bound) without bias; bound > 0.
  uint64_t below(uint64_t bound);
  /// Standard normal (Box-Muller in double, two words a number, so at most 6.8 from zero).
  double normal();

 private:
  std::array<uint32_t, 2> key_;
  uint64_t a_;
  uint32_t b_;
  uint32_t block_ = 0;
  int used_ = 4;
  std::array<uint32_t, 4> words_{};
};

}  // namespace athanor
