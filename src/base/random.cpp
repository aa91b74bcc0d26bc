// Philox4x32-10 and the distributions drawn from it.
#include "base/random.h"

#include <cmath>
#include <numbers>

#include "base/error.h"

namespace athanor {
namespace {

// Multipliers and key increments of the paper's section 4.2.
constexpr uint32_t kMultiplier0 = 0xD2511F53;
constexpr uint32_t kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kWeyl0 = 0x9E3779B9;
constexpr uint32_t kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

uint32_t low_of(uint64_t value) { return static_cast<uint32_t>(value); }
uint32_t high_of(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

}  // namespace

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = uint64_t{kMultiplier0} * counter[0];
    const uint64_t product1 = uint64_t{kMultiplier1} * counter[2];
    counter = {high_of(product1) ^ counter[1] ^ key[0], low_of(product1), high_of(product0) ^ counter[3] ^ key[1],
               low_of(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

Random::Random(uint64_t seed, RandomStream stream, uint64_t a, uint32_t b) : a_(a), b_(b) {
  // Seed and stream are 96 bits and the key has 64: one round of the generator mixes them, so that neighbours share
  // nothing.
  const std::array<uint32_t, 4> mixed =
      philox4x32({low_of(seed), high_of(seed), static_cast<uint32_t>(stream), 0}, {0, 0});
  key_ = {mixed[0], mixed[1]};
}

uint32_t Random::next_u32() {
  if (used_ == 4) {
    words_ = philox4x32({block_, b_, low_of(a_), high_of(a_)}, key_);
    ++block_;
    used_ = 0;
  }
  return words_[used_++];
}

uint64_t Random::next_u64() {
  const uint64_t low = next_u32();
  return low | uint64_t{next_u32()} << 32;
}

float Random::uniform() { return static_cast<float>(next_u32() >> 8) * 0x1p-24f; }

uint64_t Random::below(uint64_t bound) {
  check(bound > 0, "random: a number below 0 was asked; give a bound of at least 1");
  // The first 2^64 mod bound values are refused, so that each remainder is left equally often.
  const uint64_t refused = (0 - bound) % bound;
  uint64_t value = next_u64();
  while (value < refused) value = next_u64();
  return value % bound;
}

double Random::normal() {
  const double radius_uniform = (next_u32() + 0.5) * 0x1p-32;  // never 0, whose logarithm is not finite
  const double angle_uniform = next_u32() * 0x1p-32;
  return std::sqrt(-2.0 * std::log(radius_uniform)) * std::cos(2.0 * std::numbers::pi * angle_uniform);
}

}  // namespace athanor
