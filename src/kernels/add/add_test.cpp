// add and gradient_accumulate: wrong use and folding of a long grid. The cases against the plain loop run in kernels/cases_test.cpp.
#include "kernels/add/add.h"

#include "kernels/add/add_reference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

TEST(Add, RefusesAnOperandOfAnotherSize) {
  device::Stream& stream = testing::stream();
  const Add args{poisoned(stream, 12), poisoned(stream, 11), poisoned(stream, 12), 12};
  try {
    add(stream, args);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("add: b has 44 bytes but 12 values"));
  }
}

TEST(GradientAccumulate, RefusesAMissingOperand) {
  device::Stream& stream = testing::stream();
  const AddInto args{device::Buffer(), poisoned(stream, 12), 12};
  try {
    gradient_accumulate(stream, args);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("gradient_accumulate: from is missing"));
  }
}

TEST(Add, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 3);
  for (const std::vector<KernelCase>& cases : {add_cases(), gradient_accumulate_cases()}) {
    for (const KernelCase& kernel_case : cases) {
      if (kernel_case.name != "count 2006" && kernel_case.name != "count 4100") continue;
      const CaseResult result = kernel_case.run(stream);
      EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
    }
  }
}

}  // namespace
}  // namespace athanor::kernels
