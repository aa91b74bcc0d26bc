// Rows of several documents, sources mixed by weight, and files that are larger than memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "base/expect_error.h"
#include "data/data_report.h"
#include "data/loader.h"
#include "data/test_texts.h"

namespace athanor::data {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

/// Documents of the given lengths; token i of the corpus is i.
TokenData counting(const std::vector<int64_t>& lengths, std::vector<TokenSource> sources = {}) {
  std::vector<uint64_t> offsets{0};
  for (int64_t length : lengths) offsets.push_back(offsets.back() + static_cast<uint64_t>(length));
  std::vector<uint32_t> tokens(offsets.back());
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<uint32_t>(i);
  return TokenData(tokens, offsets, std::nullopt, std::move(sources));
}

TEST(Packing, TellsWhereDocumentsStartAndPredictsNothingAcross) {
  const Loader loader(counting({3, 1, 5, 2}), {.length = 10});
  const Batch row = loader.batch(0, 1);
  EXPECT_THAT(row.tokens, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(row.first_keys, ElementsAre(0, 0, 0, 3, 4, 4, 4, 4, 4, 9));
  EXPECT_THAT(row.targets, ElementsAre(1, 2, kNoTarget, kNoTarget, 5, 6, 7, 8, kNoTarget, 10));
  EXPECT_EQ(row.num_targets(), 7);
}

TEST(Packing, FirstTokensArePredictedFromTheEndOfTextBeforeThem) {
  // Documents 7 8 0 | 0 | 9 0 | 5 6 (not closed) | 4 0
  const std::vector<uint32_t> tokens{7, 8, 0, 0, 9, 0, 5, 6, 4, 0, 3};
  const std::vector<uint64_t> offsets{0, 3, 4, 6, 8, 11};
  const TokenData data(tokens, offsets, std::nullopt);
  const Batch row = Loader(data, {.length = 10, .end_of_text = 0}).batch(0, 1);
  EXPECT_THAT(row.tokens, ElementsAre(7, 8, 0, 0, 9, 0, 5, 6, 4, 0));
  EXPECT_THAT(row.first_keys, ElementsAre(0, 0, 2, 3, 3, 5, 5, 5, 8, 8));
  EXPECT_THAT(row.targets, ElementsAre(8, 0, 0, 9, 0, 5, 6, kNoTarget, 0, 3));
}

TEST(Packing, IsThatOfTheDocumentsForEveryRowOfAnEpoch) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < 200; ++i) lengths.push_back(1 + i * 37 % 41);
  const TokenData data = counting(lengths);
  const Loader loader(data, {.length = 32, .seed = 4, .validation_split = 0.1});
  const auto check_batch = [&](const Batch& batch) {
    for (int64_t i = 0; i < batch.rows * batch.length; ++i) {
      const int64_t row = i / batch.length * batch.length;
      const int64_t token = batch.tokens[static_cast<size_t>(i)];
      const int64_t document = data.document_at(token);
      // in a row documents lie whole, so the first key is where a walk back leaves the document
      int64_t first = i;
      while (first > row && data.document_at(batch.tokens[static_cast<size_t>(first - 1)]) == document) --first;
      ASSERT_EQ(batch.first_keys[static_cast<size_t>(i)], first - row);
      const bool ends = data.documents()[document + 1] == static_cast<uint64_t>(token) + 1;
      ASSERT_EQ(batch.targets[static_cast<size_t>(i)], ends ? kNoTarget : token + 1);
    }
  };
  for (int64_t step = 0; step < 2 * loader.windows_per_epoch(); ++step) check_batch(loader.batch(step, 1));
  check_batch(loader.validation_batch(0, loader.validation_blocks()));
}

TEST(Packing, NaiveTakesTheRowForOneText) {
  const Loader loader(counting({3, 1, 5, 2}), {.length = 10, .packing = Packing::Naive});
  const Batch row = loader.batch(0, 1);
  EXPECT_TRUE(row.first_keys.empty());
  EXPECT_THAT(row.targets, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_ERROR(packing_from_name("tight"), "known are documents");
}

TEST(Packing, OfDocumentsOfOneTokenLeavesNoTarget) {
  const Loader loader(counting(std::vector<int64_t>(33, 1)), {.length = 8});
  EXPECT_EQ(loader.batch(0, 4).num_targets(), 0);
}

TEST(Weights, MixSourcesAsTheySayAndShowEachWholeInItsOwnEpochs) {
  std::vector<int64_t> lengths(30, 100);
  const TokenData data = counting(lengths, {{"a", 10}, {"b", 15}, {"c", 5}});  // tokens 0..., 1000..., 2500...
  const Loader loader(data, {.length = 10, .seed = 2, .packing = Packing::Naive, .weights = {1, 2, 5}});
  std::map<int, int> rows;
  std::map<int, std::set<uint32_t>> begins;
  for (int64_t step = 0; step < 100; ++step) {
    const Batch batch = loader.batch(step, 8);
    std::map<int, int> of_step;
    for (int64_t row = 0; row < 8; ++row) {
      const uint32_t token = batch.tokens[static_cast<size_t>(row * 10)];
      const int source = token < 1000 ? 0 : token < 2500 ? 1 : 2;
      EXPECT_LT(batch.tokens[static_cast<size_t>(row * 10 + 9)], source == 0 ? 1000u : source == 1 ? 2500u : 3000u);
      ++rows[source];
      ++of_step[source];
      if (rows[source] <= 99) begins[source].insert(token);
    }
    EXPECT_EQ(of_step[0], 1);  // a step of whole cycles
    EXPECT_EQ(of_step[1], 2);
  }
  EXPECT_EQ(rows[0], 100);
  EXPECT_EQ(rows[1], 200);
  EXPECT_EQ(rows[2], 500);
  EXPECT_EQ(begins[0].size(), 99u);  // an epoch of the first source has 99 windows, each seen once
  const std::vector<double> epochs = loader.epochs_of(800);
  EXPECT_NEAR(epochs[0], 100.0 / 99, 1e-12);
  EXPECT_NEAR(epochs[2], 500.0 / 49, 1e-12);
}

TEST(Weights, ThatAreNoWholeNumbersAreSharesOfAThousandRows) {
  const TokenData data = counting(std::vector<int64_t>(30, 100), {{"a", 10}, {"b", 20}});
  const Loader loader(data, {.length = 10, .weights = {0.25, 0.75}});
  int from_first = 0;
  for (int64_t step = 0; step < 1024; ++step) from_first += loader.batch(step, 1).tokens[0] < 1000 ? 1 : 0;
  EXPECT_EQ(from_first, 256);
}

TEST(Weights, AreRefusedWhereTheyDoNotFit) {
  const TokenData data = counting({100, 100, 5}, {{"a", 1}, {"b", 1}, {"small.txt", 1}});
  const auto load = [&](std::vector<double> weights) { Loader(data, {.length = 10, .weights = std::move(weights)}); };
  EXPECT_ERROR(load({1, 2}), "2 weights were given for 3 sources");
  EXPECT_ERROR(load({1, 0, 1}), "weights must lie above 0");
  EXPECT_ERROR(load({1, 1e9, 1}), "the weight 1 of a is less than a 2048th");
  EXPECT_ERROR(load({1, 1, 1}), "small.txt has 5 tokens for training, but one block takes 11");
}

TEST(Loader, NamesTheOrderOfItsRows) {
  const TokenData data = counting({100, 100}, {{"a", 1}, {"b", 1}});
  EXPECT_EQ(Loader(data, {.length = 10}).order_name(8), "order 3, 8 rows of 10 tokens a step, packing documents");
  EXPECT_EQ(Loader(data, {.length = 10, .packing = Packing::Naive, .weights = {2, 1}}).order_name(1),
            "order 3, 1 rows of 10 tokens a step, packing naive, weights 2 1");
}

TEST(Loader, TakesAnotherOrderInEachEpoch) {
  const Loader loader(counting({1000}), {.length = 10, .seed = 3});
  std::vector<uint32_t> first;
  std::vector<uint32_t> second;
  for (int64_t step = 0; step < loader.windows_per_epoch(); ++step) {
    first.push_back(loader.batch(step, 1).tokens[0] / 10);
    second.push_back(loader.batch(step + loader.windows_per_epoch(), 1).tokens[0] / 10);
  }
  EXPECT_NE(first, second);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_THAT(first, ElementsAreArray(second));
}

#ifdef __linux__
int64_t status_kilobytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t value = 0;
    if (word == name && status >> value) return value;
  }
  return -1;
}
int64_t anonymous_kilobytes() { return status_kilobytes("RssAnon:"); }

TEST(Loader, ReadsALargeFileWithoutTakingMemoryForIt) {
  const TestFolder folder("sparse");
  const auto path = folder.write("large.bin", "ab");
  std::filesystem::resize_file(path, int64_t{1} << 30);  // tests/data.py takes ten times as much
  const int64_t before = anonymous_kilobytes();
  ASSERT_GT(before, 0);
  const TokenData data = TokenData::open(path);
  const Loader loader(data, {.length = 1024, .seed = 7, .validation_split = 0.001});
  ASSERT_EQ(data.num_tokens(), int64_t{1} << 29);
  EXPECT_LT(status_kilobytes("RssFile:"), 200 << 10) << "looking at every token left the file in memory";
  std::set<uint32_t> seen;
  for (int64_t step = 0; step < 200; ++step) seen.insert(loader.batch(step * 1000003, 4).tokens[0]);
  EXPECT_EQ(*seen.begin(), 0u);
#ifndef __SANITIZE_THREAD__  // which keeps memory of its own for every byte that is read
  EXPECT_LT(anonymous_kilobytes() - before, 4096);
#endif
}
#endif

TEST(DataReport, CountsCopiesAndLengths) {
  const std::vector<uint32_t> tokens{1, 2, 3, 1, 2, 1, 2, 3, 9, 1, 2, 3};
  const DataReport report = examine(TokenData(tokens, {0, 3, 5, 8, 9, 12}, std::nullopt));
  EXPECT_EQ(report.documents, 5);
  EXPECT_EQ(report.copies, 2);
  EXPECT_EQ(report.copied_tokens, 6);
  EXPECT_EQ(report.shortest, 1);
  EXPECT_EQ(report.median, 3);
  EXPECT_EQ(report.longest, 3);
}

}  // namespace
}  // namespace athanor::data
