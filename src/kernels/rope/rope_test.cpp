// rope: wrong use, folding, the table against angles in double, and the plain loop's gradient against finite differences. The
// cases against the plain loop run in kernels/cases_test.cpp.
#include "kernels/rope/rope.h"

#include "kernels/finite_difference.h"
#include "kernels/rope/rope_reference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

std::string message_of(const Rope& args) {
  try {
    rope(testing::stream(), args);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Rope, RefusesAnOddHeadWidth) {
  device::Stream& stream = testing::stream();
  EXPECT_THAT(message_of({poisoned(stream, 6), poisoned(stream, 6), poisoned(stream, 6), 2, 1, 3, 2, 0}),
              ::testing::HasSubstr("heads of 3 values cannot be rotated"));
}

TEST(Rope, RefusesAPositionThatTheTableLacks) {
  device::Stream& stream = testing::stream();
  EXPECT_THAT(message_of({poisoned(stream, 8), poisoned(stream, 16), poisoned(stream, 8), 2, 1, 4, 2, 3}),
              ::testing::HasSubstr("position 4 is asked for but the table has 4"));
}

TEST(Rope, RefusesAnOutputOfTheWrongSize) {
  device::Stream& stream = testing::stream();
  EXPECT_THAT(message_of({poisoned(stream, 8), poisoned(stream, 8), poisoned(stream, 12), 2, 1, 4, 2, 0}),
              ::testing::HasSubstr("rope: out has 48 bytes but 8 values"));
}

TEST(Rope, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 6);
  for (const KernelCase& kernel_case : rope_cases()) {
    if (!kernel_case.in_doctor) continue;
    const CaseResult result = kernel_case.run(stream);
    EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
  }
}

TEST(Rope, TheTableHoldsToTheLastPositionOfALongContext) {
  constexpr int64_t kPositions = 131072;
  constexpr int64_t kHeadDim = 8;
  const std::vector<float> table = rope_table(kPositions, kHeadDim, 10000);
  ASSERT_EQ(table.size(), static_cast<size_t>(kPositions * kHeadDim));
  // 10000^(-1/4) = 0.1 and so on, as f32 holds them.
  const std::vector<float> inverse = {1.0F, 1.0F / 10.0F, 1.0F / 100.0F, 1.0F / 1000.0F};
  for (const int64_t position : {0, 1, 4097, 131071}) {
    for (int64_t i = 0; i < kHeadDim / 2; ++i) {
      const double angle = static_cast<double>(position) * static_cast<double>(inverse[i]);
      EXPECT_NEAR(table[position * kHeadDim + i], std::cos(angle), 1e-6) << position << " " << i;
      EXPECT_NEAR(table[position * kHeadDim + kHeadDim / 2 + i], std::sin(angle), 1e-6) << position << " " << i;
    }
  }
}

TEST(Rope, RotatesTheLastPositionsOfALongContextAsAnglesInDoubleDo) {
  device::Stream& stream = testing::stream();
  const RopeSizes sizes{3, 2, 128, 3, 131069};
  const std::vector<float> x = test_values(3 * 2 * 128, 1);
  const Rope args{upload_values(stream, x),
                  upload_values(stream, rope_table(131072, 128, 10000)),
                  poisoned(stream, 3 * 2 * 128),
                  3,
                  2,
                  128,
                  3,
                  131069};
  rope(stream, args);
  CaseResult result;
  compare(result, "out", download_values(stream, args.out), rope_reference(to_double(x), sizes, 1), 1e-6);
  EXPECT_TRUE(result.passed()) << result.where;
}

TEST(Rope, TheGradientUndoesTheRotation) {
  device::Stream& stream = testing::stream();
  const std::vector<float> x = test_values(7 * 2 * 6, 1);
  Rope args{
      upload_values(stream, x), upload_values(stream, rope_table(7, 6, 10000)), poisoned(stream, 84), 7, 2, 6, 7, 0};
  rope(stream, args);
  args.x = args.out;
  args.out = poisoned(stream, 84);
  rope_backward(stream, args);
  CaseResult result;
  compare(result, "x", download_values(stream, args.out), to_double(x), 1e-6);
  EXPECT_TRUE(result.passed()) << result.where;
}

TEST(Rope, PlainLoopsGradientMatchesFiniteDifferences) {
  const RopeSizes sizes{5, 2, 6, 3, 4};
  const std::vector<double> x = to_double(test_values(60, 1));
  const std::vector<double> d_out = to_double(test_values(60, 2));
  expect_gradient(x, rope_reference(d_out, sizes, -1), d_out,
                  [&](const std::vector<double>& moved) { return rope_reference(moved, sizes, 1); });
}

}  // namespace
}  // namespace athanor::kernels
