// sum, gradient_norm_squared and finalize_grad_stats: wrong use, values that are not finite, and folding of a long grid. The cases
// against the plain loops run in kernels/cases_test.cpp.
#include "kernels/gradient_norm/gradient_norm.h"

#include <cmath>
#include <limits>

#include "kernels/gradient_norm/gradient_norm_reference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

using ::testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> stats_of(device::Stream& stream, const std::vector<float>& gradients, float max_norm) {
  const auto count = static_cast<int64_t>(gradients.size());
  const GradientNorm norm{upload_values(stream, gradients), count, poisoned(stream, norm_blocks(count))};
  gradient_norm_squared(stream, norm);
  const GradStats args{norm.partial, norm_blocks(count), max_norm, poisoned(stream, 4)};
  finalize_grad_stats(stream, args);
  return download_values(stream, args.stats);
}

TEST(Sum, RefusesAnOutputOfMoreThanOneValue) {
  device::Stream& stream = testing::stream();
  try {
    sum(stream, {poisoned(stream, 3), poisoned(stream, 2), 3});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("sum: out has 8 bytes but 1 values"));
  }
}

TEST(GradientNormSquared, RefusesTooFewPartialSums) {
  device::Stream& stream = testing::stream();
  try {
    gradient_norm_squared(stream, {poisoned(stream, 4097), 4097, poisoned(stream, 1)});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("gradient_norm_squared: partial has 4 bytes but 2 values"));
  }
}

TEST(GradientNormSquared, RefusesTheTableOfALongerSlab) {
  device::Stream& stream = testing::stream();
  const NormTable table = upload_norm_table(stream, std::vector<Segment>{{0, 64, 0}, {64, 130, 0}});
  const GradientNorm args{poisoned(stream, 128), 128, poisoned(stream, 2), table, poisoned(stream, 2)};
  try {
    gradient_norm_squared(stream, args);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the tensors end at element 130 but the slab has 128"));
  }
}

// One tensor of two is not finite: the flag is set for the step, and the sums say which tensor it was.
TEST(GradientNormSquared, TellsWhichTensorIsNotFinite) {
  device::Stream& stream = testing::stream();
  std::vector<float> gradients(5000, 1.0F);
  gradients[4990] = std::numeric_limits<float>::quiet_NaN();
  const NormTable table = upload_norm_table(stream, std::vector<Segment>{{0, 64, 0}, {64, 5000, 0}});
  const GradientNorm norm{upload_values(stream, gradients), 5000, poisoned(stream, table.block_count), table,
                          poisoned(stream, 2)};
  gradient_norm_squared(stream, norm);
  const std::vector<float> sums = download_values(stream, norm.tensor_sums);
  EXPECT_EQ(sums[0], 64);
  EXPECT_FALSE(std::isfinite(sums[1]));
  const GradStats args{norm.partial, table.block_count, 1, poisoned(stream, 4)};
  finalize_grad_stats(stream, args);
  EXPECT_EQ(download_values(stream, args.stats)[2], 1);
}

TEST(FinalizeGradStats, FlagsANormAboveTheLargestThatIsTaken) {
  device::Stream& stream = testing::stream();
  const std::vector<float> partial = {9, 16};
  const auto stats = [&](float largest) {
    const GradStats args{upload_values(stream, partial), 2, 2, poisoned(stream, 4), largest};
    finalize_grad_stats(stream, args);
    return download_values(stream, args.stats);
  };
  EXPECT_THAT(stats(4.5F), ::testing::ElementsAre(5.0F, 0.0F, 1.0F, 1.0F));
  EXPECT_THAT(stats(5.0F), ::testing::ElementsAre(5.0F, ::testing::FloatEq(0.4F), 0.0F, 0.0F));
  EXPECT_THAT(stats(0), ::testing::ElementsAre(5.0F, ::testing::FloatEq(0.4F), 0.0F, 0.0F));
}

TEST(FinalizeGradStats, RefusesANegativeMaximum) {
  device::Stream& stream = testing::stream();
  try {
    finalize_grad_stats(stream, {poisoned(stream, 1), 1, -1.0F, poisoned(stream, 4)});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("finalize_grad_stats: a max_norm of -1"));
  }
}

TEST(GradientNorm, ClipsToTheMaximumAndNeverEnlarges) {
  device::Stream& stream = testing::stream();
  const std::vector<float> gradients = {3, 0, 0, 4, 0};
  EXPECT_THAT(stats_of(stream, gradients, 2), ::testing::ElementsAre(5.0F, ::testing::FloatEq(0.4F), 0.0F, 0.0F));
  EXPECT_THAT(stats_of(stream, gradients, 10), ::testing::ElementsAre(5.0F, 1.0F, 0.0F, 0.0F));
  EXPECT_THAT(stats_of(stream, gradients, 0), ::testing::ElementsAre(5.0F, 1.0F, 0.0F, 0.0F));
  EXPECT_THAT(stats_of(stream, std::vector<float>(9, 0.0F), 1), ::testing::ElementsAre(0.0F, 1.0F, 0.0F, 0.0F));
}

TEST(GradientNorm, FindsOneValueThatIsNotFinite) {
  device::Stream& stream = testing::stream();
  for (const float wrong :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
    for (const size_t count : {size_t{4097}, size_t{8200}}) {
      std::vector<float> gradients = test_values(static_cast<int64_t>(count), 1);
      gradients[count - 1] = wrong;
      const std::vector<float> stats = stats_of(stream, gradients, 1);
      EXPECT_EQ(stats[1], 0) << wrong << ", " << count;
      EXPECT_EQ(stats[2], 1) << wrong << ", " << count;
    }
  }
}

TEST(GradientNorm, FindsASumThatOverflows) {
  device::Stream& stream = testing::stream();
  std::vector<float> in_one_block(64, 0.0F);
  in_one_block[5] = 1e25F;
  EXPECT_EQ(stats_of(stream, in_one_block, 1)[2], 1);
  std::vector<float> over_blocks(2 * 4096, 0.0F);
  over_blocks[0] = over_blocks[5000] = 1.5e19F;
  const std::vector<float> stats = stats_of(stream, over_blocks, 1);
  EXPECT_EQ(stats[1], 0);
  EXPECT_EQ(stats[2], 1);
}

TEST(GradientNorm, GivesTheSameBitsForAnyNumberOfThreads) {
  const std::vector<float> gradients = test_values(1100000, 1);
  std::vector<std::vector<float>> sums;
  for (const int threads : {1, 2, 5}) {
    device::DeviceOptions options;
    options.name = "cpu";
    options.threads = threads;
    const std::unique_ptr<device::Device> cpu = device::open_device(options);
    const Sum args{upload_values(cpu->stream(), gradients), poisoned(cpu->stream(), 1), 1100000};
    sum(cpu->stream(), args);
    sums.push_back(stats_of(cpu->stream(), gradients, 1));
    sums.back().push_back(download_values(cpu->stream(), args.out)[0]);
  }
  EXPECT_EQ(sums[0], sums[1]);
  EXPECT_EQ(sums[0], sums[2]);
}

TEST(GradientNorm, FoldsMoreBlocksThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 18);
  for (const std::vector<KernelCase>& cases : {sum_cases(), gradient_norm_squared_cases()}) {
    for (const KernelCase& kernel_case : cases) {
      if (kernel_case.name != "count 1100000" && kernel_case.name.find("tensors") == std::string::npos) continue;
      const CaseResult result = kernel_case.run(stream);
      EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
    }
  }
}

}  // namespace
}  // namespace athanor::kernels
