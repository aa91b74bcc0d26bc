// dropout: wrong use, what the mask depends on and how often it keeps, and folding. The cases against the plain loop run in
// kernels/cases_test.cpp.
#include "kernels/dropout/dropout.h"

#include "base/random.h"
#include "kernels/dropout/dropout_reference.h"
#include "kernels/finite_difference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace athanor::kernels {
namespace {

using ::testing::HasSubstr;

std::string message_of(const Dropout& args) {
  try {
    dropout(testing::stream(), args);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// What dropout makes of ones.
std::vector<float> mask_of(int64_t rows, int64_t columns, float p, const DropoutKey& key) {
  device::Stream& stream = testing::stream();
  const std::vector<float> ones(static_cast<size_t>(rows * columns), 1.0F);
  const Dropout args{upload_values(stream, ones), poisoned(stream, rows * columns), rows, columns, p, key};
  dropout(stream, args);
  return download_values(stream, args.out);
}

TEST(Dropout, RefusesToDropAll) {
  device::Stream& stream = testing::stream();
  EXPECT_THAT(message_of({poisoned(stream, 4), poisoned(stream, 4), 1, 4, 1.0F, {}}),
              HasSubstr("dropout: p is 1; pass the share of values to drop, at least 0 and below 1"));
}

TEST(Dropout, RefusesAKeyOutOfRange) {
  device::Stream& stream = testing::stream();
  EXPECT_THAT(message_of({poisoned(stream, 4), poisoned(stream, 4), 1, 4, 0.5F, {1, int64_t{1} << 32, 0, 0}}),
              HasSubstr("does not fit the 32 bits"));
}

TEST(Dropout, RefusesAnOutputOfTheWrongSize) {
  device::Stream& stream = testing::stream();
  EXPECT_THAT(message_of({poisoned(stream, 4), poisoned(stream, 8), 1, 4, 0.5F, {}}),
              HasSubstr("dropout: out has 32 bytes but 4 values"));
}

TEST(Dropout, TheMaskRepeatsAndDiffersForEveryPartOfTheKey) {
  const DropoutKey key{1, 2, 3, 4};
  const std::set<std::vector<float>> masks{mask_of(1, 96, 0.5F, key),
                                           mask_of(1, 96, 0.5F, key),
                                           mask_of(1, 96, 0.5F, {2, 2, 3, 4}),
                                           mask_of(1, 96, 0.5F, {1, 3, 3, 4}),
                                           mask_of(1, 96, 0.5F, {1, 2, 4, 4}),
                                           mask_of(1, 96, 0.5F, {1, 2, 3, 5}),
                                           mask_of(1, 96, 0.5F, {1 | uint64_t{1} << 40, 2, 3, 4})};
  EXPECT_EQ(masks.size(), 6u);
}

TEST(Dropout, AMicroBatchHasTheMaskOfItsRows) {
  const std::vector<float> whole = mask_of(6, 65, 0.3F, {9, 1, 2, 10});
  const std::vector<float> part = mask_of(2, 65, 0.3F, {9, 1, 2, 13});
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 3 * 65));
}

TEST(Dropout, TheNumbersOfAKeyNeverChange) {
  // A change here breaks every resumed run. The first 256 elements of a row are the low halves of Random's words.
  const DropoutKey key{42, 5, 6, 0};
  Random random(42, RandomStream::Dropout, 5 | uint64_t{6} << 32, 7);
  for (int64_t element = 0; element < 256; ++element) {
    EXPECT_EQ(dropout_number(key, 7, element) >> 16, random.next_u32() & 0xffffU) << element;
  }
  Random again(42, RandomStream::Dropout, 5 | uint64_t{6} << 32, 7);
  for (int64_t element = 256; element < 512; ++element) {
    EXPECT_EQ(dropout_number(key, 7, element) >> 16, again.next_u32() >> 16) << element;
  }
  for (int64_t element = 512; element < 520; ++element) {
    EXPECT_EQ(dropout_number(key, 7, element) >> 16, random.next_u32() & 0xffffU) << element;
  }
}

TEST(Dropout, KeepsTheShareThatIsAskedFor) {
  constexpr int64_t kColumns = 768;
  const std::vector<float> mask = mask_of(128, kColumns, 0.25F, {3, 0, 0, 0});
  const auto kept = std::count_if(mask.begin(), mask.end(), [](float value) { return value != 0; });
  EXPECT_NEAR(static_cast<double>(kept) / static_cast<double>(mask.size()), 0.75, 0.007);  // five standard errors
  for (float value : mask) ASSERT_TRUE(value == 0 || value == 1 / 0.75F) << value;
  int64_t same_as_next = 0;  // a row's mask says nothing of the next one's
  for (size_t i = 0; i + kColumns < mask.size(); ++i) same_as_next += (mask[i] != 0) == (mask[i + kColumns] != 0);
  EXPECT_NEAR(static_cast<double>(same_as_next) / static_cast<double>(mask.size() - kColumns), 0.625, 0.009);
}

TEST(Dropout, OfNothingGivesTheSameBits) {
  device::Stream& stream = testing::stream();
  const std::vector<float> x = test_values(7 * 257, 1);
  const Dropout args{upload_values(stream, x), poisoned(stream, 7 * 257), 7, 257, 0, {}};
  dropout(stream, args);
  EXPECT_EQ(download_values(stream, args.out), x);
}

TEST(Dropout, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 17);
  for (const KernelCase& kernel_case : dropout_cases()) {
    if (kernel_case.name.find("rows 66000") != 0 && kernel_case.name.find("rows 63") != 0) continue;
    const CaseResult result = kernel_case.run(stream);
    EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
  }
}

TEST(Dropout, PlainLoopsGradientMatchesFiniteDifferences) {
  const DropoutKey key{1, 2, 3, 4};
  const std::vector<double> x = to_double(test_values(15, 1));
  const std::vector<double> d_out = to_double(test_values(15, 2));
  expect_gradient(x, dropout_reference(d_out, 5, 0.4F, key), d_out,
                  [&](const std::vector<double>& moved) { return dropout_reference(moved, 5, 0.4F, key); });
}

}  // namespace
}  // namespace athanor::kernels
