// copy: wrong use, bits that are no number, and folding of a long grid. The cases against the plain loop run in kernels/cases_test.cpp.
#include "kernels/copy/copy.h"

#include "kernels/copy/copy_reference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

using ::testing::HasSubstr;

std::string message_of(const Copy& args) {
  try {
    copy(testing::stream(), args);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Copy, RefusesToReadPastTheEnd) {
  device::Stream& stream = testing::stream();
  Copy args = contiguous_copy(poisoned(stream, 12), poisoned(stream, 16), 12);
  args.source_offset = 1;
  EXPECT_THAT(message_of(args), HasSubstr("copy: elements 1 to 12 of source are asked for but it has 12"));
}

TEST(Copy, RefusesToWritePastTheEnd) {
  device::Stream& stream = testing::stream();
  EXPECT_THAT(message_of({poisoned(stream, 12), poisoned(stream, 12), {1, 1, 3, 4}, {0, 0, 4, 1}, {0, 0, 5, 1}}),
              HasSubstr("copy: elements 0 to 13 of out are asked for but it has 12"));
}

TEST(Copy, RefusesTwoElementsAtOnePlace) {
  device::Stream& stream = testing::stream();
  EXPECT_THAT(message_of({poisoned(stream, 12), poisoned(stream, 12), {1, 1, 3, 4}, {0, 0, 4, 1}, {0, 0, 3, 1}}),
              HasSubstr("copy: out has a stride of 3 where the smaller ones span 4 elements"));
  EXPECT_THAT(message_of({poisoned(stream, 12), poisoned(stream, 12), {1, 1, 3, 4}, {0, 0, 4, 1}, {0, 0, 4, 0}}),
              HasSubstr("copy: out has a stride of 0"));
}

TEST(Copy, RefusesANegativeStride) {
  device::Stream& stream = testing::stream();
  EXPECT_THAT(message_of({poisoned(stream, 4), poisoned(stream, 4), {1, 1, 1, 4}, {0, 0, 0, -1}, {0, 0, 0, 1}, 3}),
              HasSubstr("copy: source has a stride of -1; pass 0 or more"));
}

TEST(Copy, KeepsBitsThatAreNoNumber) {
  device::Stream& stream = testing::stream();
  const std::vector<uint32_t> bits = {0x7fc12345, 0xff800000, 1, 0x80000000, 0x7f800001, 0xffffffff, 0, 0x3c003c00};
  const Copy args = contiguous_copy(upload_values(stream, bits), poisoned(stream, 8), 8);
  copy(stream, args);
  std::vector<uint32_t> got(8);
  stream.download(args.out, std::as_writable_bytes(std::span(got)));
  EXPECT_EQ(got, bits);
}

TEST(Copy, OfNothingTouchesNothing) {
  device::Stream& stream = testing::stream();
  EXPECT_EQ(message_of({poisoned(stream, 4), poisoned(stream, 4), {1, 0, 2, 4}}), "no error");
}

TEST(Copy, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 17);
  for (const KernelCase& kernel_case : copy_cases()) {
    if (kernel_case.name == "count 65537" || kernel_case.name == "count 786432") continue;
    const CaseResult result = kernel_case.run(stream);
    EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
  }
}

}  // namespace
}  // namespace athanor::kernels
