// top_k: wrong use, folding of a long grid, extreme values and the bits that come back. The cases against the plain loop run in
// kernels/cases_test.cpp.
#include "kernels/top_k/top_k.h"

#include "kernels/kernel_info.h"
#include "kernels/top_k/top_k_reference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace athanor::kernels {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(TopK, RefusesAKThatRowsDoNotHave) {
  device::Stream& stream = testing::stream();
  TopK args{poisoned(stream, 12), poisoned(stream, 15), poisoned(stream, 15), 3, 4, 5};
  EXPECT_THAT(message_of([&] { top_k(stream, args); }), HasSubstr("top_k: k is 5 but rows have 4 values; pass 1 to 4"));
  args.k = 0;
  EXPECT_THAT(message_of([&] { top_k(stream, args); }), HasSubstr("top_k: k is 0"));
  args.k = 2;
  EXPECT_THAT(message_of([&] { top_k(stream, args); }), HasSubstr("top_k: values has 60 bytes but 6 values"));
  args.columns = (1 << 22) + 1;
  EXPECT_THAT(message_of([&] { top_k(stream, args); }), HasSubstr("top_k: rows of 4194305 values were given"));
}

TEST(TopK, FoldsMoreRowsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 9);
  for (const KernelCase& kernel_case : top_k_cases()) {
    if (!kernel_case.in_doctor) continue;
    const CaseResult result = kernel_case.run(stream);
    EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
  }
}

// Neighbours in their last bits, the largest and smallest magnitudes, and zeros of both signs, which are equal and keep their bits.
TEST(TopK, OrdersTheWholeRangeOfFloatsByTheirBits) {
  device::Stream& stream = testing::stream();
  constexpr float kLargest = std::numeric_limits<float>::max();
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  const std::vector<float> x = {-kLargest, 1.0F, -kTiny, -0.0F, 0x1.000002p0F, kTiny, 0.0F, kLargest, -1e-38F};
  const TopK args{upload_values(stream, x), poisoned(stream, 9), poisoned(stream, 9), 1, 9, 9};
  top_k(stream, args);
  std::vector<uint32_t> indices(9);
  stream.download(args.indices, std::as_writable_bytes(std::span(indices)));
  EXPECT_THAT(indices, ElementsAre(7, 4, 1, 5, 3, 6, 2, 8, 0));
  const std::vector<float> values = download_values(stream, args.values);
  EXPECT_THAT(values, ElementsAre(kLargest, 0x1.000002p0F, 1.0F, kTiny, 0.0F, 0.0F, -kTiny, -1e-38F, -kLargest));
  EXPECT_TRUE(std::signbit(values[4]));
  EXPECT_FALSE(std::signbit(values[5]));
}

}  // namespace
}  // namespace athanor::kernels
