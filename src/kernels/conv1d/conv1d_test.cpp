// conv1d: wrong use, gradients that nobody wants, repeated bits, folding, and the plain loop's own gradient against finite differences. The
// cases against the plain loop run in kernels/cases_test.cpp.
#include "kernels/conv1d/conv1d.h"

#include "kernels/conv1d/conv1d_reference.h"
#include "kernels/finite_difference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

using ::testing::HasSubstr;

TEST(Conv1d, RefusesWeightsOfAnotherWidth) {
  device::Stream& stream = testing::stream();
  try {
    conv1d(stream, {poisoned(stream, 12), poisoned(stream, 15), poisoned(stream, 3), poisoned(stream, 12), 3, 4});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("conv1d: weight has 60 bytes but 9 values"));
  }
}

TEST(Conv1dBackward, RefusesABiasGradientOfTheWrongLength) {
  device::Stream& stream = testing::stream();
  try {
    conv1d_backward(
        stream, {poisoned(stream, 12), poisoned(stream, 12), poisoned(stream, 9), {}, {}, poisoned(stream, 4), 3, 4});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("conv1d_backward: d_bias has 16 bytes but 3 values"));
  }
}

TEST(Conv1dBackward, WritesOnlyTheGradientsThatAreWanted) {
  device::Stream& stream = testing::stream();
  const Conv1dBackward all{upload_values(stream, test_values(2 * 5 * 64, 1)),
                           upload_values(stream, test_values(2 * 5 * 64, 2)),
                           upload_values(stream, test_values(15, 3)),
                           poisoned(stream, 2 * 5 * 64),
                           poisoned(stream, 15),
                           poisoned(stream, 5),
                           5,
                           64,
                           2};
  conv1d_backward(stream, all);
  Conv1dBackward one = all;
  one.d_x = poisoned(stream, 2 * 5 * 64);
  one.d_weight = one.d_bias = {};
  conv1d_backward(stream, one);
  EXPECT_EQ(download_values(stream, all.d_x), download_values(stream, one.d_x));
  one = all;
  one.d_weight = poisoned(stream, 15);
  one.d_x = one.d_bias = {};
  conv1d_backward(stream, one);
  EXPECT_EQ(download_values(stream, all.d_weight), download_values(stream, one.d_weight));
  one = all;
  one.d_bias = poisoned(stream, 5);
  one.d_x = one.d_weight = {};
  conv1d_backward(stream, one);
  EXPECT_EQ(download_values(stream, all.d_bias), download_values(stream, one.d_bias));
}

TEST(Conv1d, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 12);
  for (const std::vector<KernelCase>& cases : {conv1d_cases(), conv1d_backward_cases()}) {
    for (const KernelCase& kernel_case : cases) {
      if (kernel_case.name != "batch 1, channels 63, length 65" &&
          kernel_case.name != "batch 5, channels 3, length 8200" &&
          kernel_case.name != "batch 2, channels 65, length 64") {
        continue;
      }
      const CaseResult result = kernel_case.run(stream);
      EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
    }
  }
}

TEST(Conv1d, PlainLoopsGradientMatchesFiniteDifferences) {
  const Conv1dSizes sizes{2, 3, 4};
  const std::vector<double> x = to_double(test_values(24, 1));
  const std::vector<double> weight = to_double(test_values(9, 2));
  const std::vector<double> bias = to_double(test_values(3, 3));
  const std::vector<double> d_out = to_double(test_values(24, 4));
  const Conv1dGradients gradients = conv1d_backward_reference(d_out, x, weight, sizes);
  expect_gradient(x, gradients.d_x, d_out,
                  [&](const std::vector<double>& moved) { return conv1d_reference(moved, weight, bias, sizes); });
  expect_gradient(weight, gradients.d_weight, d_out,
                  [&](const std::vector<double>& moved) { return conv1d_reference(x, moved, bias, sizes); });
  expect_gradient(bias, gradients.d_bias, d_out,
                  [&](const std::vector<double>& moved) { return conv1d_reference(x, weight, moved, sizes); });
}

}  // namespace
}  // namespace athanor::kernels
