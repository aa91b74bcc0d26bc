// For tests: cases on a grid of few workgroups a dimension, so that small data is folded as 65,536 workgroups would be.
#pragma once

#include "kernels/kernel_info.h"
#include "test_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace athanor::kernels {

/// Runs the cases of these names with at most `limit` workgroups a dimension. A case compares every value, the last one too.
inline void expect_folded_cases_pass(const std::vector<KernelCase>& cases, uint32_t limit,
                                     const std::vector<std::string>& names) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, limit);
  for (const std::string& name : names) {
    const auto found =
        std::find_if(cases.begin(), cases.end(), [&](const KernelCase& each) { return each.name == name; });
    ASSERT_NE(found, cases.end()) << "no case " << name;
    const CaseResult result = found->run(stream);
    EXPECT_TRUE(result.passed()) << name << ": " << result.where;
  }
}

}  // namespace athanor::kernels
