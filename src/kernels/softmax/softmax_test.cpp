// softmax: wrong use, masks, folding of a long grid, and the plain loop's own gradient against finite differences. The cases against the
// plain loop run in kernels/cases_test.cpp.
#include "kernels/softmax/softmax.h"

#include "kernels/finite_difference.h"
#include "kernels/softmax/softmax_reference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

using ::testing::HasSubstr;

TEST(Softmax, RefusesAnOutputOfTheWrongSize) {
  device::Stream& stream = testing::stream();
  try {
    softmax(stream, {poisoned(stream, 12), poisoned(stream, 8), 3, 4});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("softmax: out has 32 bytes but 12 values"));
  }
}

TEST(SoftmaxBackward, RefusesAMissingOutput) {
  device::Stream& stream = testing::stream();
  try {
    softmax_backward(stream, {poisoned(stream, 12), device::Buffer(), poisoned(stream, 12), 3, 4});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("softmax_backward: out is missing"));
  }
}

TEST(Softmax, GivesExactZerosToMaskedValuesAndRows) {
  device::Stream& stream = testing::stream();
  std::vector<float> x(3 * 8, kMaskedValue);
  x[8] = -1e4F;  // one value left in the second row: it takes all
  x[16] = 0;     // two equal ones in the third
  x[23] = 0;
  x[17] = -3.3e38F;  // a mask added to a score
  const Softmax args{upload_values(stream, x), poisoned(stream, 24), 3, 8};
  softmax(stream, args);
  std::vector<float> want(24, 0.0F);
  want[8] = 1;
  want[16] = 0.5F;
  want[23] = 0.5F;
  EXPECT_EQ(download_values(stream, args.out), want);
}

TEST(Softmax, FoldsMoreRowsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 50);
  for (const std::vector<KernelCase>& cases : {softmax_cases(), softmax_backward_cases()}) {
    for (const KernelCase& kernel_case : cases) {
      if (kernel_case.name.find("rows 66000") != 0 && kernel_case.name.find("rows 65,") != 0) continue;
      const CaseResult result = kernel_case.run(stream);
      EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
    }
  }
}

TEST(Softmax, PlainLoopsGradientMatchesFiniteDifferences) {
  std::vector<double> x = to_double(test_values(3 * 5, 1));
  const std::vector<double> d_out = to_double(test_values(3 * 5, 2));
  x[7] = kMaskedValue;
  expect_gradient(x, softmax_backward_reference(d_out, softmax_reference(x, 5), 5), d_out,
                  [&](const std::vector<double>& moved) { return softmax_reference(moved, 5); });
}

}  // namespace
}  // namespace athanor::kernels
