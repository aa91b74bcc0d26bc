// mse_loss: wrong use, nothing to sum, repeated bits, folding, and the plain loop's own gradient against finite differences. The cases
// against the plain loop run in kernels/cases_test.cpp.
#include "kernels/mse_loss/mse_loss.h"

#include "kernels/finite_difference.h"
#include "kernels/mse_loss/mse_loss_reference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

using ::testing::HasSubstr;

TEST(MseLoss, RefusesTargetsOfAnotherSize) {
  device::Stream& stream = testing::stream();
  try {
    mse_loss(stream, {poisoned(stream, 12), poisoned(stream, 11), poisoned(stream, 1), 12, 1});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("mse_loss: wanted has 44 bytes but 12 values"));
  }
}

TEST(MseLossBackward, RefusesAnInfiniteScale) {
  device::Stream& stream = testing::stream();
  try {
    mse_loss_backward(stream, {poisoned(stream, 4), poisoned(stream, 4), poisoned(stream, 4), 4, 1.0F / 0.0F});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("mse_loss_backward: a scale of inf; pass 1 / the number of values"));
  }
}

TEST(MseLoss, OfNothingIsZero) {
  device::Stream& stream = testing::stream();
  const MseLoss args{{}, {}, poisoned(stream, 1), 0, 1};
  mse_loss(stream, args);
  EXPECT_EQ(download_values(stream, args.loss)[0], 0.0F);
}

TEST(MseLoss, RepeatsToTheBitAndFolds) {
  device::Stream& stream = testing::stream();
  const MseLoss args{upload_values(stream, test_values(65537, 1)), upload_values(stream, test_values(65537, 2)),
                     poisoned(stream, 1), 65537, 1};
  mse_loss(stream, args);
  const std::vector<float> first = download_values(stream, args.loss);
  const testing::FewWorkgroups few(stream, 17);
  mse_loss(stream, args);
  EXPECT_EQ(first, download_values(stream, args.loss));
}

TEST(MseLossBackward, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 3);
  for (const KernelCase& kernel_case : mse_loss_backward_cases()) {
    if (kernel_case.name.find("count 2006") != 0 && kernel_case.name.find("count 4100") != 0) continue;
    const CaseResult result = kernel_case.run(stream);
    EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
  }
}

TEST(MseLoss, PlainLoopsGradientMatchesFiniteDifferences) {
  const std::vector<double> prediction = to_double(test_values(7, 1));
  const std::vector<double> wanted = to_double(test_values(7, 2));
  expect_gradient(
      prediction, mse_loss_backward_reference(prediction, wanted, 0.3), {1.0},
      [&](const std::vector<double>& moved) { return std::vector<double>{mse_loss_reference(moved, wanted, 0.3)}; });
}

}  // namespace
}  // namespace athanor::kernels
