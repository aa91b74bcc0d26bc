// rope_attention_decode: wrong use, folding, and when it is one launch. The cases against the plain loops run in kernels/cases_test.cpp.
#include "kernels/rope_attention_decode/rope_attention_decode.h"

#include "base/expect_error.h"
#include "kernels/rope_attention_decode/rope_attention_decode_reference.h"
#include "test_device.h"

#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

/// H 2 over 1, D 8, the third row of a cache of 5.
RopeAttentionDecode small(device::Stream& stream) {
  RopeAttentionDecode args;
  args.q = poisoned(stream, 16);
  args.k = poisoned(stream, 8);
  args.v = poisoned(stream, 8);
  args.table = poisoned(stream, 40);
  args.k_cache = poisoned(stream, 40);
  args.v_cache = poisoned(stream, 40);
  args.out = poisoned(stream, 16);
  args.position = 2;
  args.capacity = 5;
  args.heads = 2;
  args.kv_heads = 1;
  args.head_dim = 8;
  return args;
}

TEST(RopeAttentionDecode, RefusesAPositionBehindTheCache) {
  device::Stream& stream = testing::stream();
  RopeAttentionDecode args = small(stream);
  args.position = 5;
  EXPECT_ERROR(rope_attention_decode(stream, args), "position 5 does not lie within a cache of 5");
}

TEST(RopeAttentionDecode, RefusesATableThatIsTooShort) {
  device::Stream& stream = testing::stream();
  RopeAttentionDecode args = small(stream);
  args.table = poisoned(stream, 16);
  EXPECT_ERROR(rope_attention_decode(stream, args),
               "position 2 is asked for but the table of angles does not reach it");
}

TEST(RopeAttentionDecode, RefusesHeadsThatDoNotShareKeysEvenly) {
  device::Stream& stream = testing::stream();
  RopeAttentionDecode args = small(stream);
  args.heads = 3;
  args.kv_heads = 2;
  EXPECT_THROW(rope_attention_decode(stream, args), Error);
}

TEST(RopeAttentionDecode, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 4);
  for (const KernelCase& kernel_case : rope_attention_decode_cases()) {
    if (!kernel_case.in_doctor) continue;
    const CaseResult result = kernel_case.run(stream);
    EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
  }
}

}  // namespace
}  // namespace athanor::kernels
