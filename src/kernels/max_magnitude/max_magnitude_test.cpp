// max_magnitude: wrong use, few workgroups, and ranges of a binding. The cases against the plain loop run in kernels/cases_test.cpp.
#include "kernels/max_magnitude/max_magnitude.h"

#include "base/expect_error.h"
#include "kernels/max_magnitude/max_magnitude_internal.h"
#include "kernels/max_magnitude/max_magnitude_reference.h"
#include "test_device.h"

#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

TEST(MaxMagnitude, RefusesNoValuesAndAScaleOfOneValue) {
  device::Stream& stream = testing::stream();
  EXPECT_ERROR(max_magnitude(stream, {}), "max_magnitude: 0 values were given; pass at least 1");
  EXPECT_ERROR(max_magnitude(stream, {poisoned(stream, 5), poisoned(stream, 1), 5}),
               "max_magnitude: scale has 4 bytes but 2 values");
}

TEST(MaxMagnitude, FewWorkgroupsTakeAllValues) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 3);
  for (const KernelCase& kernel_case : max_magnitude_cases()) {
    const CaseResult result = kernel_case.run(stream);
    EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
  }
}

TEST(MaxMagnitude, ValuesBeyondTheBindingLimitAreTakenByRanges) {
  device::Stream& stream = testing::stream();
  for (const int64_t count : {1000, 1001}) {
    for (const int64_t place : {int64_t{0}, int64_t{64}, count - 1}) {
      std::vector<float> values(static_cast<size_t>(count), 0.5F);
      values[static_cast<size_t>(place)] = -9.0F;
      const MaxMagnitude args{upload_values(stream, values), poisoned(stream, 2), count};
      if (testing::is_webgpu()) {
        max_magnitude_webgpu(device::webgpu::as_webgpu(stream), args, {}, 300);
      } else {
        max_magnitude(stream, args);
      }
      EXPECT_EQ(download_values(stream, args.scale), (std::vector<float>{0x1p11F, 0x1p-11F})) << count << " " << place;
    }
  }
}

}  // namespace
}  // namespace athanor::kernels
