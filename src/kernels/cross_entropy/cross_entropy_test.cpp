// cross_entropy: wrong use, rows left out, folding of a long grid, and the plain loop's own gradient against finite differences. The
// cases against the plain loop run in kernels/cases_test.cpp.
#include "kernels/cross_entropy/cross_entropy.h"

#include "kernels/cross_entropy/cross_entropy_reference.h"
#include "kernels/finite_difference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

device::Buffer upload_targets(device::Stream& stream, const std::vector<int32_t>& targets) {
  return upload_values(stream, std::span(reinterpret_cast<const uint32_t*>(targets.data()), targets.size()));
}

TEST(CrossEntropy, RefusesATargetOutsideTheVocabulary) {
  EXPECT_NO_THROW(check_targets(std::vector<int32_t>{0, kIgnoreTarget, 4}, 5));
  for (const int32_t wrong : {5, -1, -101}) {
    try {
      check_targets(std::vector<int32_t>{0, wrong}, 5);
      FAIL() << "no error for " << wrong;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(),
                  HasSubstr(fmt::format("the target at position 1 is {} but the vocabulary has 5 entries", wrong)));
    }
  }
}

TEST(CrossEntropy, RefusesLossesOfTheWrongSize) {
  device::Stream& stream = testing::stream();
  const CrossEntropy args{poisoned(stream, 12), upload_targets(stream, {0, 1, 2}), poisoned(stream, 2), 3, 4};
  try {
    cross_entropy(stream, args);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cross_entropy: losses has 8 bytes but 3 values"));
  }
}

TEST(CrossEntropyBackward, RefusesLogitsOfTheWrongSize) {
  device::Stream& stream = testing::stream();
  const CrossEntropyBackward args{
      poisoned(stream, 11), upload_targets(stream, {0, 1, 2}), poisoned(stream, 12), 1, 3, 4};
  try {
    cross_entropy_backward(stream, args);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cross_entropy_backward: logits has 44 bytes but 12 values"));
  }
}

TEST(CrossEntropyInPlace, RefusesAnInfiniteScale) {
  device::Stream& stream = testing::stream();
  const CrossEntropyFused args{
      poisoned(stream, 4), upload_targets(stream, {0}), poisoned(stream, 1), 1.0F / 0.0F, 1, 4};
  try {
    cross_entropy_in_place(stream, args);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cross_entropy_in_place: a scale of inf"));
  }
}

TEST(CrossEntropyInPlace, GivesZerosWhenEveryRowIsLeftOut) {
  device::Stream& stream = testing::stream();
  const CrossEntropyFused args{upload_values(stream, test_values(3 * 65, 1)),
                               upload_targets(stream, {kIgnoreTarget, kIgnoreTarget, kIgnoreTarget}),
                               poisoned(stream, 3),
                               1,
                               3,
                               65};
  cross_entropy_in_place(stream, args);
  EXPECT_THAT(download_values(stream, args.losses), Each(0.0F));
  EXPECT_THAT(download_values(stream, args.logits_to_gradient), Each(0.0F));
}

// A confident model: the loss keeps its digits beside logits of 1e4, where taking it from a log-sum-exp in f32 would lose them.
TEST(CrossEntropy, KeepsSmallLossesOfLargeLogits) {
  device::Stream& stream = testing::stream();
  const std::vector<float> logits = {10000, 9996, 9990, -10000, -10000, -10000, -9998, -10000};
  const CrossEntropy args{upload_values(stream, logits), upload_targets(stream, {0, 2}), poisoned(stream, 2), 2, 4};
  cross_entropy(stream, args);
  const std::vector<float> losses = download_values(stream, args.losses);
  const std::vector<double> want = {std::log1p(std::exp(-4.0) + std::exp(-10.0)), std::log1p(3 * std::exp(-2.0))};
  for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(losses[i], want[i], 1e-6 * want[i] + 3e-7) << i;
}

TEST(CrossEntropy, FoldsMoreRowsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 8);
  for (const std::vector<KernelCase>& cases :
       {cross_entropy_cases(), cross_entropy_backward_cases(), cross_entropy_in_place_cases()}) {
    for (const KernelCase& kernel_case : cases) {
      if (!kernel_case.in_doctor) continue;
      const CaseResult result = kernel_case.run(stream);
      EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
    }
  }
}

TEST(CrossEntropy, PlainLoopsGradientMatchesFiniteDifferences) {
  const std::vector<double> logits = to_double(test_values(3 * 5, 1));
  const std::vector<int32_t> targets = {4, kIgnoreTarget, 0};
  const std::vector<double> d_losses(3, 0.25);
  expect_gradient(logits, cross_entropy_backward_reference(logits, targets, 5, 0.25), d_losses,
                  [&](const std::vector<double>& moved) { return cross_entropy_reference(moved, targets, 5); });
}

}  // namespace
}  // namespace athanor::kernels
