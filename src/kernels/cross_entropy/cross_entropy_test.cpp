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

TEST(CrossEntropy, RefusesTermsOutOfRange) {
  device::Stream& stream = testing::stream();
  CrossEntropy args{poisoned(stream, 4), upload_targets(stream, {0}), poisoned(stream, 1), 1, 4};
  const auto message_of = [&](const CrossEntropyTerms& terms) -> std::string {
    args.terms = terms;
    try {
      cross_entropy(stream, args);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message_of({.label_smoothing = 1.5F}), HasSubstr("a label smoothing of 1.5; pass one from 0 to 1"));
  EXPECT_THAT(message_of({.z_loss = -1}), HasSubstr("a z-loss of -1; pass a positive factor"));
  EXPECT_THAT(message_of({.soft_cap = -30}), HasSubstr("a soft cap of -30; pass a positive one"));
}

TEST(CrossEntropy, RefusesTotalsOfTheWrongSize) {
  device::Stream& stream = testing::stream();
  CrossEntropy args{poisoned(stream, 4), upload_targets(stream, {0}), poisoned(stream, 1), 1, 4};
  args.totals = poisoned(stream, 1);
  try {
    cross_entropy(stream, args);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cross_entropy: totals has 4 bytes but 1 values of 8 bytes"));
  }
}

TEST(CrossEntropy, GivesNoLossAndNoCountWithoutATarget) {
  device::Stream& stream = testing::stream();
  CrossEntropy args{upload_values(stream, test_values(3 * 65, 1)),
                    upload_targets(stream, {kIgnoreTarget, kIgnoreTarget, kIgnoreTarget}),
                    poisoned(stream, 3),
                    3,
                    65,
                    {.label_smoothing = 0.1F, .z_loss = 1e-3F, .soft_cap = 30},
                    poisoned(stream, 2)};
  cross_entropy(stream, args);
  EXPECT_THAT(download_values(stream, args.losses), Each(0.0F));
  EXPECT_EQ(download_totals(stream, args.totals).loss_sum, 0);
  EXPECT_EQ(download_totals(stream, args.totals).count, 0U);
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
  const std::vector<CrossEntropyTerms> all_terms = {
      {}, {.label_smoothing = 0.1F}, {.z_loss = 0.01F}, {.soft_cap = 2}, {0.2F, 0.05F, 1.5F}};
  for (const CrossEntropyTerms& terms : all_terms) {
    expect_gradient(
        logits, cross_entropy_backward_reference(logits, targets, 5, 0.25, terms), d_losses,
        [&](const std::vector<double>& moved) { return cross_entropy_reference(moved, targets, 5, terms); });
  }
}

// torch.nn.functional.cross_entropy([1, 2, 3], 0, label_smoothing=0.1) by hand: 0.9 * nll + 0.1 * mean of all nlls.
TEST(CrossEntropy, PlainLoopSmoothsAsPyTorch) {
  const double log_sum = std::log(std::exp(1.0) + std::exp(2.0) + std::exp(3.0));
  const double want = 0.9 * (log_sum - 1) + 0.1 * (log_sum - 2);
  EXPECT_NEAR(cross_entropy_reference({1, 2, 3}, {0}, 3, {.label_smoothing = 0.1F}).front(), want, 1e-8);
}

TEST(CrossEntropyBench, MakesOperandsOfTheAskedSizeThatRun) {
  device::Stream& stream = testing::stream();
  for (const auto make : {cross_entropy_bench, cross_entropy_backward_bench, cross_entropy_in_place_bench}) {
    const KernelBench bench = make(stream, 1 << 18);
    EXPECT_EQ(bench.sizes, "rows 2, vocabulary 32768");
    bench.launch();
  }
  stream.wait();
}

}  // namespace
}  // namespace athanor::kernels
