// Both searches against plain loops over all places.
#include "data/copied_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "base/random.h"

namespace athanor::data {
namespace {

using Ids = std::vector<uint32_t>;

TokenStream stream_of(const Ids& tokens) {
  const TokenData data(tokens, {0, tokens.size()}, std::nullopt);
  return TokenStream(data, {{0, static_cast<int64_t>(tokens.size())}});
}

Ids random_ids(size_t count, uint32_t vocabulary, uint64_t seed) {
  Random random(seed, RandomStream::Test);
  Ids ids(count);
  for (uint32_t& id : ids) id = static_cast<uint32_t>(random.below(vocabulary));
  return ids;
}

/// Length of the run that text from i and training from j have in common.
int64_t common(const Ids& text, size_t i, const Ids& training, size_t j) {
  int64_t length = 0;
  while (i < text.size() && j < training.size() && text[i++] == training[j++]) ++length;
  return length;
}

int64_t plain_longest(const Ids& text, const Ids& training) {
  int64_t best = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    for (size_t j = 0; j < training.size(); ++j) best = std::max(best, common(text, i, training, j));
  }
  return best;
}

std::vector<uint8_t> plain_copied(const Ids& text, const Ids& training, int64_t least) {
  std::vector<uint8_t> copied(text.size(), 0);
  for (size_t i = 0; i < text.size(); ++i) {
    for (size_t j = 0; j < training.size(); ++j) {
      const int64_t length = common(text, i, training, j);
      if (length >= least) std::fill_n(copied.begin() + static_cast<std::ptrdiff_t>(i), length, uint8_t{1});
    }
  }
  return copied;
}

TEST(CopiedText, TheLongestRunIsThatOfAPlainSearch) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const Ids training = random_ids(400, 2 + seed % 4, seed);
    const Ids text = random_ids(60, 2 + seed % 4, seed + 100);
    const CopiedRun run = longest_copied_run(text, stream_of(training));
    EXPECT_EQ(run.length, plain_longest(text, training)) << seed;
    for (int64_t i = 0; i < run.length; ++i) {
      EXPECT_EQ(text[static_cast<size_t>(run.begin + i)], training[static_cast<size_t>(run.training_begin + i)])
          << seed;
    }
  }
}

TEST(CopiedText, RunsAreFoundAcrossTheBlocksOfALongText) {
  Ids training = random_ids(600000, 50, 5);
  const auto across = training.begin() + (1 << 18) - 40;
  const Ids text(across, across + 80);
  const CopiedRun run = longest_copied_run(text, stream_of(training));
  EXPECT_EQ(run.length, 80);
  EXPECT_EQ(run.training_begin, (1 << 18) - 40);
  const std::vector<uint8_t> copied = copied_tokens(text, stream_of(training), 32);
  EXPECT_EQ(std::count(copied.begin(), copied.end(), 1), 80);
  EXPECT_LT(longest_copied_run(text, stream_of(training), 1000).length, 10);
  EXPECT_EQ(longest_copied_run(text, stream_of(training), 1000).searched, 1000);
}

TEST(CopiedText, TokensInLongEnoughRunsAreMarkedAsByAPlainSearch) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const Ids training = random_ids(300, 3, seed);
    const Ids text = random_ids(80, 3, seed + 50);
    for (const int64_t least : {1, 4, 7}) {
      EXPECT_EQ(copied_tokens(text, stream_of(training), least), plain_copied(text, training, least)) << seed;
    }
  }
}

TEST(CopiedText, RepeatedTokensTakeNoLongerAndAShortTextHasNoRun) {
  const Ids zeros(20000, 0);
  const std::vector<uint8_t> copied = copied_tokens(zeros, stream_of(zeros), 32);
  EXPECT_EQ(std::count(copied.begin(), copied.end(), 1), 20000);
  EXPECT_EQ(longest_copied_run(Ids(500, 0), stream_of(zeros)).length, 500);
  EXPECT_EQ(copied_tokens(Ids(10, 0), stream_of(zeros), 32), std::vector<uint8_t>(10, 0));
  EXPECT_EQ(longest_copied_run({}, stream_of(zeros)).length, 0);
  EXPECT_EQ(longest_copied_run(Ids{7, 8}, stream_of(zeros)).length, 0);
  EXPECT_THROW(copied_tokens(zeros, stream_of(zeros), 0), Error);
}

}  // namespace
}  // namespace athanor::data
