#include "base/random.h"

#include <cmath>
#include <set>
#include <vector>

#include "base/expect_error.h"

namespace athanor {
namespace {

using Words = std::array<uint32_t, 4>;

// The vectors that the paper's authors publish for philox4x32 with 10 rounds.
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, RepeatsForTheSameKeyAndDiffersForEveryPartOfIt) {
  const auto first = [](Random random) { return random.next_u64(); };
  const uint64_t base = first(Random(7, RandomStream::Test, 5, 3));
  EXPECT_EQ(first(Random(7, RandomStream::Test, 5, 3)), base);
  const std::set<uint64_t> all{base,
                               first(Random(8, RandomStream::Test, 5, 3)),
                               first(Random(7 | uint64_t{1} << 40, RandomStream::Test, 5, 3)),
                               first(Random(7, RandomStream::Shuffle, 5, 3)),
                               first(Random(7, RandomStream::Test, 6, 3)),
                               first(Random(7, RandomStream::Test, 5 | uint64_t{1} << 40, 3)),
                               first(Random(7, RandomStream::Test, 5, 4))};
  EXPECT_EQ(all.size(), 7u);
}

TEST(Random, TheNumbersOfAKeyNeverChange) {
  // A change here breaks every resumed run.
  Random random(42, RandomStream::Weights, 1, 2);
  const Words words{random.next_u32(), random.next_u32(), random.next_u32(), random.next_u32()};
  const Words mixed = philox4x32({42, 0, 1, 0}, {0, 0});
  EXPECT_EQ(words, philox4x32({0, 2, 1, 0}, {mixed[0], mixed[1]}));
  EXPECT_EQ(random.next_u32(), philox4x32({1, 2, 1, 0}, {mixed[0], mixed[1]})[0]);
}

TEST(Random, UniformLiesInZeroToOneWithTheRightMean) {
  Random random(1, RandomStream::Test);
  double sum = 0;
  for (int i = 0; i < 100000; ++i) {
    const float value = random.uniform();
    ASSERT_GE(value, 0.0f);
    ASSERT_LT(value, 1.0f);
    sum += value;
  }
  EXPECT_NEAR(sum / 100000, 0.5, 0.005);  // five standard errors
}

TEST(Random, BelowIsEvenAndStaysBelow) {
  Random random(2, RandomStream::Test);
  std::vector<int> counts(7);
  for (int i = 0; i < 70000; ++i) {
    const uint64_t value = random.below(7);
    ASSERT_LT(value, 7u);
    ++counts[value];
  }
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
  EXPECT_EQ(random.below(1), 0u);
  const uint64_t large = (uint64_t{1} << 63) + 1;
  for (int i = 0; i < 100; ++i) EXPECT_LT(random.below(large), large);
}

TEST(Random, BelowRefusesABoundOfZero) {
  EXPECT_ERROR(Random(1, RandomStream::Test).below(0), "a bound of at least 1");
}

TEST(Random, NormalHasMeanZeroVarianceOneAndTheTailsOfANormal) {
  Random random(3, RandomStream::Test);
  constexpr int kCount = 200000;
  double sum = 0, squares = 0;
  int beyond_two = 0;
  for (int i = 0; i < kCount; ++i) {
    const double value = random.normal();
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += value * value;
    beyond_two += std::abs(value) > 2;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.012);
  EXPECT_NEAR(squares / kCount, 1, 0.016);
  EXPECT_NEAR(static_cast<double>(beyond_two) / kCount, 0.0455, 0.0024);
}

}  // namespace
}  // namespace athanor
