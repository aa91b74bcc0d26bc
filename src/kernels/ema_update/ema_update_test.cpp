// ema_update: wrong use, a flagged step, and folding of a long grid. The cases against the plain loop
// run in kernels/cases_test.cpp.
#include "kernels/ema_update/ema_update.h"

#include "kernels/ema_update/ema_update_reference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

EmaUpdate ones_towards_twos(device::Stream& stream, double decay) {
  EmaUpdate args;
  args.ema = upload_values(stream, std::vector<float>(8, 1.0F));
  args.weights = upload_values(stream, std::vector<float>(8, 2.0F));
  args.count = 8;
  args.decay = static_cast<float>(decay);
  args.one_minus_decay = static_cast<float>(1 - decay);
  return args;
}

void expect_refused(const EmaUpdate& args, const char* message) {
  try {
    ema_update(testing::stream(), args);
    FAIL() << "no error: " << message;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(message));
  }
}

TEST(EmaUpdate, RefusesWhatCannotBe) {
  device::Stream& stream = testing::stream();
  EmaUpdate args = ones_towards_twos(stream, 0.5);
  args.ema = poisoned(stream, 7);
  expect_refused(args, "ema_update: ema has 28 bytes but 8 values");
  args.decay = 1.5F;
  expect_refused(args, "ema_update: decay is 1.5; pass a number in [0, 1]");
}

TEST(EmaUpdate, ChangesNothingWhenTheFlagIsSet) {
  device::Stream& stream = testing::stream();
  EmaUpdate args = ones_towards_twos(stream, 0.5);
  args.stats = upload_values(stream, std::vector<float>{1, 0, 1, 0});
  ema_update(stream, args);
  EXPECT_THAT(download_values(stream, args.ema), Each(1.0F));
  args.stats = upload_values(stream, std::vector<float>{1, 1, 0, 0});
  ema_update(stream, args);
  EXPECT_THAT(download_values(stream, args.ema), Each(1.5F));
}

TEST(EmaUpdate, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 3);
  for (const KernelCase& kernel_case : ema_update_cases()) {
    if (kernel_case.name != "three steps, count 2006" && kernel_case.name != "three steps, count 4100") continue;
    const CaseResult result = kernel_case.run(stream);
    EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
  }
}

}  // namespace
}  // namespace athanor::kernels
