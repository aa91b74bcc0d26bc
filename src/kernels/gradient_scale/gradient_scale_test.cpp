// gradient_scale and clip_grad_by_norm: wrong use, a flagged step, clipping from the gradients on, and folding of a long grid. The
// cases against the plain loops run in kernels/cases_test.cpp.
#include "kernels/gradient_scale/gradient_scale.h"

#include "kernels/gradient_norm/gradient_norm.h"
#include "kernels/gradient_scale/gradient_scale_reference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace athanor::kernels {
namespace {

using ::testing::HasSubstr;

// Measures and clips to a norm of 1, all on the device.
std::vector<float> clipped(device::Stream& stream, const std::vector<float>& gradients) {
  const auto count = static_cast<int64_t>(gradients.size());
  const device::Buffer buffer = upload_values(stream, gradients);
  const device::Buffer partial = poisoned(stream, norm_blocks(count));
  const device::Buffer stats = poisoned(stream, 4);
  gradient_norm_squared(stream, {buffer, count, partial});
  finalize_grad_stats(stream, {partial, norm_blocks(count), 1, stats});
  clip_grad_by_norm(stream, {buffer, stats, count});
  return download_values(stream, buffer);
}

TEST(GradientScale, RefusesAFactorThatIsNotFinite) {
  device::Stream& stream = testing::stream();
  try {
    gradient_scale(stream, {poisoned(stream, 3), 3, std::numeric_limits<float>::infinity()});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("gradient_scale: a factor of inf; pass a finite number"));
  }
}

TEST(ClipGradByNorm, RefusesStatsOfAnotherSize) {
  device::Stream& stream = testing::stream();
  try {
    clip_grad_by_norm(stream, {poisoned(stream, 12), poisoned(stream, 3), 12});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("clip_grad_by_norm: stats has 12 bytes but 4 values"));
  }
}

TEST(ClipGradByNorm, BringsALongGradientToTheMaximumAndLeavesAShortOneAlone) {
  device::Stream& stream = testing::stream();
  EXPECT_THAT(clipped(stream, {3, 0, 0, 4, 0}),
              ::testing::Pointwise(::testing::FloatEq(), std::vector<float>{0.6F, 0, 0, 0.8F, 0}));
  const std::vector<float> shorter = {0.1F, -0.2F, 0.3F};
  EXPECT_EQ(clipped(stream, shorter), shorter);
}

TEST(ClipGradByNorm, ChangesNothingWhenAGradientIsNotFinite) {
  device::Stream& stream = testing::stream();
  const std::vector<float> gradients = {3, std::numeric_limits<float>::infinity(), 0, 4};
  EXPECT_EQ(clipped(stream, gradients), gradients);
}

TEST(GradientScale, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 3);
  for (const std::vector<KernelCase>& cases : {gradient_scale_cases(), clip_grad_by_norm_cases()}) {
    for (const KernelCase& kernel_case : cases) {
      if (kernel_case.name != "count 2006" && kernel_case.name != "count 4100") continue;
      const CaseResult result = kernel_case.run(stream);
      EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
    }
  }
}

}  // namespace
}  // namespace athanor::kernels
