// rms_norm: wrong use, folding of a long grid, gradients that nobody wants, and the plain loop's own gradient against finite
// differences. The cases against the plain loop run in kernels/cases_test.cpp.
#include "kernels/rms_norm/rms_norm.h"

#include "kernels/finite_difference.h"
#include "kernels/rms_norm/rms_norm_reference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

TEST(RmsNorm, RefusesAWeightOfTheWrongLength) {
  device::Stream& stream = testing::stream();
  RmsNorm args{poisoned(stream, 12), poisoned(stream, 5), poisoned(stream, 12), 3, 4};
  try {
    rms_norm(stream, args);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("rms_norm: weight has 20 bytes but 4 values"));
  }
}

TEST(RmsNorm, FoldsMoreRowsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 17);
  for (const std::vector<KernelCase>& cases : {rms_norm_cases(), rms_norm_backward_cases()}) {
    for (const KernelCase& kernel_case : cases) {
      if (!kernel_case.in_doctor) continue;
      const CaseResult result = kernel_case.run(stream);
      EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
    }
  }
}

TEST(RmsNorm, FoldsSixtySixThousandRows) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 50);
  for (const std::vector<KernelCase>& cases : {rms_norm_cases(), rms_norm_backward_cases()}) {
    for (const KernelCase& kernel_case : cases) {
      if (kernel_case.name != "rows 66000, columns 5") continue;
      const CaseResult result = kernel_case.run(stream);
      EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
    }
  }
}

TEST(RmsNormBackward, WritesOnlyTheGradientThatIsWanted) {
  device::Stream& stream = testing::stream();
  RmsNormBackward both{upload_values(stream, test_values(19 * 64, 1)),
                       upload_values(stream, test_values(19 * 64, 2)),
                       upload_values(stream, test_values(64, 3)),
                       poisoned(stream, 19 * 64),
                       poisoned(stream, 64),
                       19,
                       64};
  rms_norm_backward(stream, both);
  RmsNormBackward only_x = both;
  only_x.d_x = poisoned(stream, 19 * 64);
  only_x.d_weight = {};
  rms_norm_backward(stream, only_x);
  RmsNormBackward only_weight = both;
  only_weight.d_x = {};
  only_weight.d_weight = poisoned(stream, 64);
  rms_norm_backward(stream, only_weight);
  EXPECT_EQ(download_values(stream, both.d_x), download_values(stream, only_x.d_x));
  EXPECT_EQ(download_values(stream, both.d_weight), download_values(stream, only_weight.d_weight));
}

TEST(RmsNorm, PlainLoopsGradientMatchesFiniteDifferences) {
  const int64_t rows = 3;
  const int64_t columns = 5;
  const std::vector<double> x = to_double(test_values(rows * columns, 1));
  const std::vector<double> weight = to_double(test_values(columns, 2));
  const std::vector<double> d_out = to_double(test_values(rows * columns, 3));
  const RmsNormGradients gradients = rms_norm_backward_reference(d_out, x, weight, 1e-5, 1);
  expect_gradient(x, gradients.d_x, d_out,
                  [&](const std::vector<double>& moved) { return rms_norm_reference(moved, weight, 1e-5, 1); });
  expect_gradient(weight, gradients.d_weight, d_out,
                  [&](const std::vector<double>& moved) { return rms_norm_reference(x, moved, 1e-5, 1); });
}

}  // namespace
}  // namespace athanor::kernels
