// Sampling against distributions that can be worked out by hand.
#include "generate/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/expect_error.h"

namespace athanor::generate {
namespace {

using ::testing::ElementsAre;

// Logits of the probabilities 0.15, 0.5, 0.05, 0.3 in this order of ids.
const std::vector<float> kLogits = {std::log(0.15F), std::log(0.5F), std::log(0.05F), std::log(0.3F)};

SamplerOptions everything() {
  SamplerOptions options;
  options.temperature = 1;
  options.top_k = 0;
  options.top_p = 1;
  options.min_p = 0;
  return options;
}

std::vector<uint32_t> kept(const SamplerOptions& options, std::span<const float> logits = kLogits,
                           std::span<const uint32_t> previous = {}) {
  Sampler sampler(options);
  std::vector<uint32_t> tokens;
  for (const Sampler::Candidate& candidate : sampler.distribution(logits, previous)) tokens.push_back(candidate.token);
  return tokens;
}

std::vector<double> probabilities(const SamplerOptions& options, std::span<const float> logits = kLogits,
                                  std::span<const uint32_t> previous = {}) {
  Sampler sampler(options);
  std::vector<double> by_token(logits.size());
  for (const Sampler::Candidate& candidate : sampler.distribution(logits, previous))
    by_token[candidate.token] = candidate.probability;
  return by_token;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6) << "token " << i;
}

TEST(Sampler, WithoutFiltersGivesTheSoftmax) { expect_near(probabilities(everything()), {0.15, 0.5, 0.05, 0.3}); }

TEST(Sampler, TemperatureZeroTakesTheLargestLogitAndOfEqualOnesTheLowerId) {
  SamplerOptions options;
  options.temperature = 0;
  Sampler sampler(options);
  EXPECT_EQ(sampler.sample(kLogits, {}, 0), 1U);
  EXPECT_EQ(sampler.sample(std::vector<float>{1, 3, 2, 3}, {}, 5), 1U);
}

TEST(Sampler, TemperatureTwoTakesSquareRootsOfTheOdds) {
  SamplerOptions options = everything();
  options.temperature = 2;
  const std::vector<double> got = probabilities(options);
  EXPECT_NEAR(got[1] / got[3], std::sqrt(0.5 / 0.3), 1e-6);
  EXPECT_NEAR(got[0] + got[1] + got[2] + got[3], 1, 1e-12);
}

TEST(Sampler, TopKKeepsTheMostLikelyAndOfEqualOnesTheLowerId) {
  SamplerOptions options = everything();
  options.top_k = 2;
  EXPECT_THAT(kept(options), ElementsAre(1U, 3U));
  expect_near(probabilities(options), {0, 0.5 / 0.8, 0, 0.3 / 0.8});
  EXPECT_THAT(kept(options, std::vector<float>{1, 2, 2, 2}), ElementsAre(1U, 2U));
  options.top_k = 100;
  EXPECT_EQ(kept(options).size(), 4U);
}

TEST(Sampler, TopPKeepsTheFewestThatReachIt) {
  SamplerOptions options = everything();
  options.top_p = 0.79F;
  EXPECT_THAT(kept(options), ElementsAre(1U, 3U));
  options.top_p = 0.81F;
  EXPECT_THAT(kept(options), ElementsAre(1U, 3U, 0U));
  options.top_p = 0.0001F;
  EXPECT_THAT(kept(options), ElementsAre(1U));
}

TEST(Sampler, TopPLooksAtWhatTopKLeft) {
  SamplerOptions options = everything();
  options.top_k = 2;
  options.top_p = 0.62F;  // 0.5 of 0.8 is 0.625
  EXPECT_THAT(kept(options), ElementsAre(1U));
}

TEST(Sampler, MinPIsRelativeToTheMostLikely) {
  SamplerOptions options = everything();
  options.min_p = 0.29F;  // 0.145: 0.15 stays, 0.05 goes
  EXPECT_THAT(kept(options), ElementsAre(0U, 1U, 3U));
  options.min_p = 1;
  EXPECT_THAT(kept(options), ElementsAre(1U));
}

TEST(Sampler, TheTemperatureDoesNotChangeWhatTheFiltersKeep) {
  SamplerOptions options = everything();
  options.top_p = 0.79F;
  options.temperature = 100;
  EXPECT_THAT(kept(options), ElementsAre(1U, 3U));
}

TEST(Sampler, RepeatPenaltyLowersASeenTokenOfEitherSignAndOnce) {
  SamplerOptions options = everything();
  options.repeat_penalty = 2;
  const std::vector<float> logits = {1, -1, 0.5F};
  const std::vector<uint32_t> previous = {0, 1, 0, 1, 1, 99};
  const std::vector<double> got = probabilities(options, logits, previous);
  const double sum = std::exp(0.5) + std::exp(-2.0) + std::exp(0.5);
  expect_near(got, {std::exp(0.5) / sum, std::exp(-2.0) / sum, std::exp(0.5) / sum});
}

TEST(Sampler, RepeatPenaltyLooksBackOnlySoFar) {
  SamplerOptions options = everything();
  options.repeat_penalty = 2;
  options.repeat_last_n = 1;
  const std::vector<float> logits = {1, 1, 1};
  std::vector<double> got = probabilities(options, logits, std::vector<uint32_t>{0, 1});
  EXPECT_DOUBLE_EQ(got[0], got[2]);
  EXPECT_LT(got[1], got[0]);
  options.repeat_last_n = -1;
  got = probabilities(options, logits, std::vector<uint32_t>{0, 1});
  EXPECT_DOUBLE_EQ(got[0], got[1]);
  options.repeat_last_n = 0;
  got = probabilities(options, logits, std::vector<uint32_t>{0, 1});
  EXPECT_DOUBLE_EQ(got[1], got[2]);
}

TEST(Sampler, DrawsEachTokenAsOftenAsItsProbabilitySays) {
  SamplerOptions options = everything();
  options.seed = 11;
  Sampler sampler(options);
  constexpr int kDraws = 40000;
  std::vector<int> counts(4);
  for (int position = 0; position < kDraws; ++position) counts[sampler.sample(kLogits, {}, position)] += 1;
  const std::vector<double> want = {0.15, 0.5, 0.05, 0.3};
  for (size_t token = 0; token < want.size(); ++token) {
    const double deviation = std::sqrt(want[token] * (1 - want[token]) * kDraws);
    EXPECT_NEAR(counts[token], want[token] * kDraws, 4 * deviation) << "token " << token;
  }
}

TEST(Sampler, SeedAndPositionDecideTheDraw) {
  SamplerOptions options = everything();
  options.seed = 3;
  Sampler a(options);
  Sampler b(options);
  options.seed = 4;
  Sampler other(options);
  std::vector<uint32_t> first;
  std::vector<uint32_t> again;
  std::vector<uint32_t> differently;
  for (int64_t position = 0; position < 50; ++position) first.push_back(a.sample(kLogits, {}, position));
  for (int64_t position = 49; position >= 0; --position) again.insert(again.begin(), b.sample(kLogits, {}, position));
  for (int64_t position = 0; position < 50; ++position) differently.push_back(other.sample(kLogits, {}, position));
  EXPECT_EQ(first, again);
  EXPECT_NE(first, differently);
}

TEST(Sampler, ATokenOfMinusInfinityIsNeverDrawn) {
  const float none = -std::numeric_limits<float>::infinity();
  expect_near(probabilities(everything(), std::vector<float>{none, 0, none, 0}), {0, 0.5, 0, 0.5});
  Sampler sampler(everything());
  for (int64_t position = 0; position < 200; ++position) {
    EXPECT_EQ(sampler.sample(std::vector<float>{none, 0, none}, {}, position), 1U);
  }
}

TEST(Sampler, RefusesLogitsThatAreNoNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float temperature : {0.0F, 0.8F}) {
    SamplerOptions options;
    options.temperature = temperature;
    Sampler sampler(options);
    EXPECT_ERROR(sampler.sample(std::vector<float>{0, nan}, {}, 0), "the logit of token 1 is nan");
    EXPECT_ERROR(sampler.sample(std::vector<float>{infinity, 0}, {}, 0), "the logit of token 0 is inf");
    EXPECT_ERROR(sampler.sample(std::vector<float>{-infinity, -infinity}, {}, 0), "none of 2 logits is a number");
    EXPECT_ERROR(sampler.sample({}, {}, 0), "none of 0 logits");
  }
}

TEST(Sampler, RefusesOptionsThatMakeNoDistribution) {
  const auto with = [](auto change) {
    SamplerOptions options;
    change(options);
    return options;
  };
  EXPECT_ERROR(Sampler(with([](SamplerOptions& o) { o.temperature = -1; })), "temperature is -1");
  EXPECT_ERROR(Sampler(with([](SamplerOptions& o) { o.temperature = std::nanf(""); })), "temperature is nan");
  EXPECT_ERROR(Sampler(with([](SamplerOptions& o) { o.top_k = -1; })), "top-k is -1");
  EXPECT_ERROR(Sampler(with([](SamplerOptions& o) { o.top_p = 0; })), "top-p is 0");
  EXPECT_ERROR(Sampler(with([](SamplerOptions& o) { o.min_p = 1.5F; })), "min-p is 1.5");
  EXPECT_ERROR(Sampler(with([](SamplerOptions& o) { o.repeat_penalty = 0; })), "repeat-penalty is 0");
  EXPECT_ERROR(Sampler(with([](SamplerOptions& o) { o.repeat_last_n = -2; })), "repeat-last-n is -2");
}

}  // namespace
}  // namespace athanor::generate
