// rms_norm_residual: wrong use, folding of a long grid, and gradients against finite differences. The cases against the plain loop run in
// kernels/cases_test.cpp.
#include "kernels/rms_norm_residual/rms_norm_residual.h"

#include "kernels/finite_difference.h"
#include "kernels/rms_norm/rms_norm_reference.h"
#include "kernels/rms_norm_residual/rms_norm_residual_reference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

TEST(RmsNormResidual, RefusesAResidualOfAnotherShape) {
  device::Stream& stream = testing::stream();
  const RmsNormResidual args{
      poisoned(stream, 12), poisoned(stream, 8), poisoned(stream, 4), poisoned(stream, 12), poisoned(stream, 12), 3, 4};
  try {
    rms_norm_residual(stream, args);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("rms_norm_residual: residual has 32 bytes but 12 values"));
  }
}

TEST(RmsNormResidualBackward, RefusesAStreamGradientOfAnotherShape) {
  device::Stream& stream = testing::stream();
  const RmsNormResidualBackward args{poisoned(stream, 12),
                                     poisoned(stream, 8),
                                     poisoned(stream, 12),
                                     poisoned(stream, 4),
                                     poisoned(stream, 12),
                                     device::Buffer(),
                                     3,
                                     4};
  try {
    rms_norm_residual_backward(stream, args);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("rms_norm_residual_backward: d_y has 32 bytes but 12 values"));
  }
}

TEST(RmsNormResidual, FoldsManyRows) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 50);
  for (const std::vector<KernelCase>& cases : {rms_norm_residual_cases(), rms_norm_residual_backward_cases()}) {
    for (const KernelCase& kernel_case : cases) {
      if (kernel_case.name != "rows 66000, columns 4" && kernel_case.name != "rows 65, columns 260") continue;
      const CaseResult result = kernel_case.run(stream);
      EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
    }
  }
}

TEST(RmsNormResidual, PlainLoopsGradientMatchesFiniteDifferences) {
  const std::vector<double> x = to_double(test_values(15, 1));
  const std::vector<double> residual = to_double(test_values(15, 2));
  const std::vector<double> weight = to_double(test_values(5, 3));
  std::vector<double> d_both = to_double(test_values(30, 4));  // of y, then of out
  const std::vector<double> d_y(d_both.begin(), d_both.begin() + 15);
  const std::vector<double> d_out(d_both.begin() + 15, d_both.end());
  const auto y_then_out = [&](const std::vector<double>& moved_x, const std::vector<double>& moved_weight) {
    NormResidualValues values = rms_norm_residual_reference(moved_x, residual, moved_weight, 1e-5, 1);
    values.y.insert(values.y.end(), values.out.begin(), values.out.end());
    return values.y;
  };
  const std::vector<double> y = rms_norm_residual_reference(x, residual, weight, 1e-5, 1).y;
  RmsNormGradients gradients = rms_norm_backward_reference(d_out, y, weight, 1e-5, 1);
  for (size_t i = 0; i < d_y.size(); ++i) gradients.d_x[i] += d_y[i];
  expect_gradient(x, gradients.d_x, d_both,
                  [&](const std::vector<double>& moved) { return y_then_out(moved, weight); });
  expect_gradient(weight, gradients.d_weight, d_both,
                  [&](const std::vector<double>& moved) { return y_then_out(x, moved); });
}

}  // namespace
}  // namespace athanor::kernels
