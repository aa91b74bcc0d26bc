// sample: wrong use, the random numbers' bits, what each filter keeps, and folding of a long grid. The cases against the plain loop run
// in kernels/cases_test.cpp.
#include "kernels/sample/sample.h"

#include "base/random.h"
#include "kernels/kernel_info.h"
#include "kernels/sample/sample_reference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace athanor::kernels {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::vector<uint32_t> drawn(Sample args) {
  device::Stream& stream = testing::stream();
  args.tokens = poisoned(stream, args.rows);
  sample(stream, args);
  std::vector<uint32_t> tokens(static_cast<size_t>(args.rows));
  stream.download(args.tokens, std::as_writable_bytes(std::span(tokens)));
  return tokens;
}

/// Options that keep every token as it is.
Sample everything(std::span<const float> logits, int64_t rows) {
  Sample args;
  args.logits = upload_values(testing::stream(), logits);
  args.rows = rows;
  args.vocabulary = static_cast<int64_t>(logits.size()) / rows;
  args.temperature = 1;
  args.top_k = 0;
  args.top_p = 1;
  args.min_p = 0;
  return args;
}

TEST(Sample, RefusesOptionsThatMakeNoDistribution) {
  const std::vector<float> logits = {1, 2, 3, 4};
  Sample args = everything(logits, 2);
  args.temperature = -1;
  EXPECT_THAT(message_of([&] { drawn(args); }), HasSubstr("sample: temperature is -1; pass 0 (greedy)"));
  args.temperature = 1;
  args.top_p = 0;
  EXPECT_THAT(message_of([&] { drawn(args); }), HasSubstr("sample: top-p is 0"));
  args.top_p = 1;
  args.min_p = 1.5F;
  EXPECT_THAT(message_of([&] { drawn(args); }), HasSubstr("sample: min-p is 1.5"));
  args.min_p = 0;
  args.repeat_penalty = 0;
  EXPECT_THAT(message_of([&] { drawn(args); }), HasSubstr("sample: repeat-penalty is 0"));
  args.repeat_penalty = 2;
  args.previous_length = 3;
  args.previous = poisoned(testing::stream(), 5);
  EXPECT_THAT(message_of([&] { drawn(args); }), HasSubstr("sample: previous has 20 bytes but 6 values"));
  args.repeat_penalty = 1;
  args.vocabulary = 3;
  EXPECT_THAT(message_of([&] { drawn(args); }), HasSubstr("sample: logits has 16 bytes but 6 values"));
}

// Among 2^16 equal logits the token is the upper 16 bits of the random number.
TEST(Sample, DrawsWithTheBitsOfBaseRandom) {
  constexpr int64_t kRows = 7;
  Sample args = everything(std::vector<float>(kRows << 16, -2.5F), kRows);
  for (const int64_t position : {0LL, 1LL, 77LL, 0x123456789aLL}) {
    args.position = position;
    args.seed = 0xfedcba9876543210ULL + static_cast<uint64_t>(position);
    args.first_row = static_cast<uint32_t>(position) * 5;
    const std::vector<uint32_t> tokens = drawn(args);
    for (uint32_t row = 0; row < kRows; ++row) {
      Random random(args.seed, RandomStream::Sampling, static_cast<uint64_t>(position), args.first_row + row);
      EXPECT_EQ(tokens[row], random.next_u64() >> 48) << "position " << position << ", row " << row;
    }
  }
}

/// All tokens that a hundred rows of the same logits give.
std::set<uint32_t> support(const std::vector<float>& logits, Sample options) {
  std::vector<float> rows;
  for (int i = 0; i < 100; ++i) rows.insert(rows.end(), logits.begin(), logits.end());
  options.logits = upload_values(testing::stream(), rows);
  options.rows = 100;
  options.vocabulary = static_cast<int64_t>(logits.size());
  const std::vector<uint32_t> tokens = drawn(options);
  return {tokens.begin(), tokens.end()};
}

// Probabilities 0.15, 0.5, 0.05, 0.3 in this order of ids, as in the tests of generate::Sampler.
TEST(Sample, FiltersKeepWhatTheHostsSamplerKeeps) {
  const std::vector<float> logits = {std::log(0.15F), std::log(0.5F), std::log(0.05F), std::log(0.3F)};
  Sample options;
  options.temperature = 1;
  options.top_k = 0;
  options.top_p = 1;
  options.min_p = 0;
  EXPECT_THAT(support(logits, options), ElementsAre(0U, 1U, 2U, 3U));
  options.top_k = 2;
  EXPECT_THAT(support(logits, options), ElementsAre(1U, 3U));
  EXPECT_THAT(support({1, 2, 2, 2}, options), ElementsAre(1U, 2U));
  options.top_k = 0;
  options.top_p = 0.79F;
  EXPECT_THAT(support(logits, options), ElementsAre(1U, 3U));
  options.top_p = 0.81F;
  EXPECT_THAT(support(logits, options), ElementsAre(0U, 1U, 3U));
  options.top_p = 0.5F;
  EXPECT_THAT(support({0, 0, 0, 0}, options), ElementsAre(0U, 1U));
  options.top_p = 1;
  options.min_p = 0.29F;
  EXPECT_THAT(support(logits, options), ElementsAre(0U, 1U, 3U));
  options.min_p = 1;
  EXPECT_THAT(support(logits, options), ElementsAre(1U));
}

TEST(Sample, APenaltyLowersASeenTokenOfEitherSignOnce) {
  device::Stream& stream = testing::stream();
  Sample args = everything(std::vector<float>{3, 2, -5, -3, -2, -9}, 2);
  args.temperature = 0;
  args.repeat_penalty = 2;
  args.previous_length = 3;
  args.previous = upload_values(stream, std::vector<uint32_t>{0, 0, 0xffffffff, 1, 1, 3});
  EXPECT_THAT(drawn(args), ElementsAre(1U, 0U));  // 1.5 < 2; -4 < -3
  args.previous = upload_values(stream, std::vector<uint32_t>{0, 1, 3, 0, 1, 1});
  EXPECT_THAT(drawn(args), ElementsAre(0U, 1U));  // 1.5 > 1; -6 < -4, once
}

TEST(Sample, FoldsMoreRowsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 5);
  for (const KernelCase& kernel_case : sample_cases()) {
    if (!kernel_case.in_doctor) continue;
    const CaseResult result = kernel_case.run(stream);
    EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
  }
}

}  // namespace
}  // namespace athanor::kernels
