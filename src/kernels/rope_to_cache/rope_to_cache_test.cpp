// rope_to_cache: wrong use and folding. The cases against the plain loops run in kernels/cases_test.cpp.
#include "kernels/rope_to_cache/rope_to_cache.h"

#include "base/expect_error.h"
#include "kernels/rope_to_cache/rope_to_cache_reference.h"
#include "test_device.h"

#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

/// Two rows of one query head and one key/value head of 4 values, in a cache of 5 rows.
RopeToCache small(device::Stream& stream) {
  RopeToCache args;
  args.q = poisoned(stream, 8);
  args.k = poisoned(stream, 8);
  args.v = poisoned(stream, 8);
  args.table = poisoned(stream, 20);
  args.rotated = poisoned(stream, 8);
  args.k_cache = poisoned(stream, 20);
  args.v_cache = poisoned(stream, 20);
  args.rows = 2;
  args.heads = 1;
  args.kv_heads = 1;
  args.head_dim = 4;
  args.position = 3;
  args.capacity = 5;
  return args;
}

TEST(RopeToCache, RefusesRowsThatDoNotFitTheCache) {
  device::Stream& stream = testing::stream();
  RopeToCache args = small(stream);
  args.position = 4;
  EXPECT_ERROR(rope_to_cache(stream, args), "rope_to_cache: rows 4 to 5 do not fit a cache of 5");
}

TEST(RopeToCache, RefusesAPositionThatTheTableLacks) {
  device::Stream& stream = testing::stream();
  RopeToCache args = small(stream);
  args.table = poisoned(stream, 16);
  EXPECT_ERROR(rope_to_cache(stream, args), "position 4 is asked for but the table has 4");
}

TEST(RopeToCache, RefusesACacheOfTheWrongSize) {
  device::Stream& stream = testing::stream();
  RopeToCache args = small(stream);
  args.v_cache = poisoned(stream, 16);
  EXPECT_ERROR(rope_to_cache(stream, args), "v_cache has 64 bytes but 20 values");
}

TEST(RopeToCache, RefusesAnOddHeadWidth) {
  device::Stream& stream = testing::stream();
  RopeToCache args = small(stream);
  args.head_dim = 3;
  EXPECT_ERROR(rope_to_cache(stream, args), "heads of 3 values cannot be rotated");
}

TEST(RopeToCache, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 8);  // the largest case has 49
  for (const KernelCase& kernel_case : rope_to_cache_cases()) {
    if (!kernel_case.in_doctor) continue;
    const CaseResult result = kernel_case.run(stream);
    EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
  }
}

}  // namespace
}  // namespace athanor::kernels
