// Every case of every kernel on the device under test.
#include "kernels/kernel_info.h"
#include "test_device.h"

#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

class KernelCases : public ::testing::TestWithParam<KernelInfo> {};

TEST_P(KernelCases, AgreeWithThePlainLoop) {
  ASSERT_FALSE(GetParam().cases.empty());
  for (const KernelCase& kernel_case : GetParam().cases) {
    if (testing::short_list() && !kernel_case.in_doctor) continue;
    const CaseResult result = kernel_case.run(testing::stream());
    EXPECT_TRUE(result.passed()) << GetParam().name << ", " << kernel_case.name << ": error " << result.largest_error
                                 << ", allowed " << result.allowed_error << " at " << result.where;
  }
}

INSTANTIATE_TEST_SUITE_P(All, KernelCases, ::testing::ValuesIn(all_kernels()),
                         [](const ::testing::TestParamInfo<KernelInfo>& info) { return info.param.name; });

TEST(KernelTable, HasADoctorCaseForEveryKernel) {
  for (const KernelInfo& kernel : all_kernels()) {
    bool found = false;
    for (const KernelCase& kernel_case : kernel.cases) found |= kernel_case.in_doctor;
    EXPECT_TRUE(found) << kernel.name;
  }
}

}  // namespace
}  // namespace athanor::kernels
