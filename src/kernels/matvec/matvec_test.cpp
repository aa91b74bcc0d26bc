// matvec: wrong use, folding, cuts at a binding limit. The cases against the plain loops run in kernels/cases_test.cpp.
#include "kernels/matvec/matvec.h"

#include "base/expect_error.h"
#include "kernels/matvec/matvec_reference.h"
#include "test_device.h"

#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

MatVec small(device::Stream& stream) {
  MatVec args;
  args.x = poisoned(stream, 4);
  args.w = poisoned(stream, 12);
  args.y = poisoned(stream, 3);
  args.n = 3;
  args.k = 4;
  return args;
}

TEST(MatVec, RefusesAWeightOfTheWrongSize) {
  device::Stream& stream = testing::stream();
  MatVec args = small(stream);
  args.weight = MatVecWeight::F16;
  EXPECT_ERROR(matvec(stream, args), "matvec: w has 48 bytes but 24 values of 1 bytes are needed");
}

TEST(MatVec, RefusesANormWithoutItsWeight) {
  device::Stream& stream = testing::stream();
  MatVec args = small(stream);
  args.operand = MatVecOperand::RmsNorm;
  EXPECT_ERROR(matvec(stream, args), "matvec: factor is missing; pass a buffer of 4 values");
}

TEST(MatVec, RefusesRowsThatAreNoWholeBlocks) {
  device::Stream& stream = testing::stream();
  MatVec args = small(stream);
  args.weight = MatVecWeight::Q8_0;
  EXPECT_ERROR(matvec(stream, args), "rows of 4 values are no whole q8_0 blocks of 32");
}

TEST(MatVec, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 17);
  for (const KernelCase& kernel_case : matvec_cases()) {
    if (!kernel_case.in_doctor) continue;
    const CaseResult result = kernel_case.run(stream);
    EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
  }
}

TEST(MatVec, CutsAWeightThatIsLongerThanABinding) {
  device::Stream& stream = testing::stream();
  for (const MatVecWeight weight : {MatVecWeight::F32, MatVecWeight::F16, MatVecWeight::Q8_0}) {
    const MatVecSizes sizes{333, 96, MatVecOperand::RmsNorm, weight, Accumulate::Yes};
    const CaseResult result = run_matvec_case(stream, sizes, 20000);
    EXPECT_TRUE(result.passed()) << static_cast<int>(weight) << ": " << result.where;
  }
}

}  // namespace
}  // namespace athanor::kernels
