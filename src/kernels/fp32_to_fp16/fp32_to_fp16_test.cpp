// fp32_to_fp16 and fp16_to_fp32: wrong use, all halves there and back, odd last values, and folding of a long grid. The cases against
// the plain loops run in kernels/cases_test.cpp.
#include "kernels/fp32_to_fp16/fp32_to_fp16.h"

#include "kernels/fp32_to_fp16/fp32_to_fp16_reference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Fp32ToFp16, RefusesTooFewWords) {
  device::Stream& stream = testing::stream();
  try {
    fp32_to_fp16(stream, {poisoned(stream, 5), poisoned(stream, 2), 5});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("fp32_to_fp16: out has 8 bytes but 3 values of 4 bytes are needed"));
  }
}

TEST(Fp16ToFp32, RefusesAnOutputOfAnotherSize) {
  device::Stream& stream = testing::stream();
  try {
    fp16_to_fp32(stream, {poisoned(stream, 3), poisoned(stream, 6), 5});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("fp16_to_fp32: out has 24 bytes but 5 values"));
  }
}

TEST(Fp32ToFp16, AllHalvesSurviveTheWayThereAndBack) {
  device::Stream& stream = testing::stream();
  std::vector<uint16_t> halves(65536);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  const std::vector<uint32_t> words = packed_halves(halves);
  const device::Buffer wide = poisoned(stream, 65536);
  const device::Buffer back = poisoned(stream, 32768);
  fp16_to_fp32(stream, {upload_values(stream, words), wide, 65536});
  fp32_to_fp16(stream, {wide, back, 65536});
  EXPECT_EQ(download_words(stream, back), words);
}

TEST(Fp32ToFp16, WritesZeroAfterAnOddLastValue) {
  device::Stream& stream = testing::stream();
  const device::Buffer out = poisoned(stream, 2);
  fp32_to_fp16(stream, {upload_values(stream, std::vector<float>{1.0F, -2.0F, 65504.0F}), out, 3});
  EXPECT_THAT(download_words(stream, out), ElementsAre(0xc0003c00U, 0x00007bffU));
}

TEST(Fp16ToFp32, LeavesTheUpperHalfOfAnOddLastWordOut) {
  device::Stream& stream = testing::stream();
  const device::Buffer out = poisoned(stream, 3);
  fp16_to_fp32(stream, {upload_values(stream, std::vector<uint32_t>{0xc0003c00U, 0xffff0001U}), out, 3});
  EXPECT_THAT(download_values(stream, out), ElementsAre(1.0F, -2.0F, 0x1p-24F));
}

TEST(Fp32ToFp16, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 3);
  for (const std::vector<KernelCase>& cases : {fp32_to_fp16_cases(), fp16_to_fp32_cases()}) {
    for (const KernelCase& kernel_case : cases) {
      if (kernel_case.name != "count 2006" && kernel_case.name != "count 2047" && kernel_case.name != "count 2052")
        continue;
      const CaseResult result = kernel_case.run(stream);
      EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
    }
  }
}

}  // namespace
}  // namespace athanor::kernels
