// sgd_update: wrong use, a flagged step, elements between tensors, steps worked out by hand, and folding of a long grid. The cases
// against the plain loop run in kernels/cases_test.cpp.
#include "kernels/sgd_update/sgd_update.h"

#include "kernels/segments/golden_gradients.h"
#include "kernels/sgd_update/sgd_update_reference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace athanor::kernels {
namespace {

using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A slab of 192 elements with a tensor in [64, 101), and everything else NaN: what must not be touched keeps its bits.
SgdUpdate slab_with_a_hole(device::Stream& stream, const std::vector<float>& stats, float momentum) {
  std::vector<float> values = test_values(192, 1);
  for (size_t i = 0; i < values.size(); ++i) {
    if (i < 64 || i >= 101) values[i] = kNan;
  }
  SgdUpdate args;
  args.weights = upload_values(stream, values);
  args.gradients = upload_values(stream, values);
  if (momentum > 0) args.m = upload_values(stream, values);
  args.segments = upload_segments(stream, std::vector<Segment>{{64, 101, 0.1F}});
  args.stats = upload_values(stream, stats);
  args.count = 192;
  args.lr = 0.1F;
  args.momentum = momentum;
  return args;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b, size_t begin, size_t end) {
  return std::memcmp(a.data() + begin, b.data() + begin, (end - begin) * sizeof(float)) == 0;
}

void expect_refused(const SgdUpdate& args, const char* message) {
  try {
    sgd_update(testing::stream(), args);
    FAIL() << "no error: " << message;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(message));
  }
}

TEST(SgdUpdate, RefusesWhatCannotBe) {
  device::Stream& stream = testing::stream();
  SgdUpdate args = slab_with_a_hole(stream, {1, 1, 0, 0}, 0.9F);
  args.m = poisoned(stream, 191);
  expect_refused(args, "sgd_update: m has 764 bytes but 192 values");
  args.momentum = 1;
  expect_refused(args, "sgd_update: momentum is 1; pass a number in [0, 1)");
  args.momentum = 0;
  args.nesterov = Nesterov::Yes;
  expect_refused(args, "sgd_update: Nesterov's form needs a momentum above 0");
  args.nesterov = Nesterov::No;
  args.segments = upload_segments(stream, std::vector<Segment>{{192, 200, 0}});
  expect_refused(args, "sgd_update: the segments cover 4 blocks of 64 elements but the slab has 192 elements");
}

TEST(SgdUpdate, ChangesNoBitWhenTheFlagIsSet) {
  device::Stream& stream = testing::stream();
  for (const float momentum : {0.0F, 0.9F}) {
    const SgdUpdate args = slab_with_a_hole(stream, {kNan, 0, 1, 0}, momentum);
    const std::vector<float> before = download_values(stream, args.weights);
    sgd_update(stream, args);
    EXPECT_TRUE(same_bits(before, download_values(stream, args.weights), 0, 192));
    EXPECT_TRUE(!args.m || same_bits(before, download_values(stream, args.m), 0, 192));
  }
}

TEST(SgdUpdate, LeavesElementsBetweenTensorsAlone) {
  device::Stream& stream = testing::stream();
  for (const float momentum : {0.0F, 0.9F}) {
    const SgdUpdate args = slab_with_a_hole(stream, {1, 1, 0, 0}, momentum);
    const std::vector<float> before = download_values(stream, args.weights);
    sgd_update(stream, args);
    const std::vector<float> after = download_values(stream, args.weights);
    for (const auto& [begin, end] : {std::pair<size_t, size_t>{0, 64}, std::pair<size_t, size_t>{101, 192}}) {
      EXPECT_TRUE(same_bits(before, after, begin, end));
      EXPECT_TRUE(!args.m || same_bits(before, download_values(stream, args.m), begin, end));
    }
    for (size_t i = 64; i < 101; ++i) EXPECT_NE(before[i], after[i]) << i;
  }
}

// Weight 2, gradients 1 and 3, lr 0.1, momentum 0.5, decay 0.5. First step: g = 1 + 1 = 2, m = 2. Plain momentum: w = 2 - 0.2 = 1.8,
// then g = 3 + 0.9, m = 1 + 3.9 = 4.9, w = 1.8 - 0.49. Nesterov: d = 2 + 1 = 3, w = 1.7, then g = 3.85, m = 4.85, d = 6.275.
TEST(SgdUpdate, GivesTheNumbersWorkedOutByHand) {
  device::Stream& stream = testing::stream();
  for (const auto& [nesterov, want] : {std::pair{Nesterov::No, 1.31F}, std::pair{Nesterov::Yes, 1.0725F}}) {
    SgdUpdate args;
    args.weights = upload_values(stream, std::vector<float>{2});
    args.m = upload_values(stream, std::vector<float>{0});
    args.segments = upload_segments(stream, std::vector<Segment>{{0, 1, 0.5F}});
    args.stats = upload_values(stream, std::vector<float>{1, 1, 0, 0});
    args.count = 1;
    args.lr = 0.1F;
    args.momentum = 0.5F;
    args.nesterov = nesterov;
    for (const float gradient : {1.0F, 3.0F}) {
      args.gradients = upload_values(stream, std::vector<float>{gradient});
      sgd_update(stream, args);
    }
    EXPECT_FLOAT_EQ(download_values(stream, args.weights)[0], want);
  }
}

// Two steps with Nesterov's momentum and decay, against numbers of MLX (tests/golden/make_optimizer_golden.py).
TEST(SgdUpdate, GivesTheNumbersOfMlx) {
  device::Stream& stream = testing::stream();
  const std::vector<float> want = {0.247695F, 0.060948F, 0.168330F, 0.228583F, 0.335965F,
                                   0.443348F, 0.503601F, 0.610983F, 0.965365F, 0.778618F,
                                   0.886000F, 1.240382F, 1.053635F, 1.408017F, 1.221270F};
  SgdUpdate args;
  args.weights = upload_values(stream, golden_weights());
  args.m = upload_values(stream, std::vector<float>(15, 0.0F));
  args.segments = upload_segments(stream, std::vector<Segment>{{0, 15, 0.1F}});
  args.stats = upload_values(stream, std::vector<float>{1, 1, 0, 0});
  args.count = 15;
  args.lr = 0.1F;
  args.momentum = 0.9F;
  args.nesterov = Nesterov::Yes;
  for (int step = 0; step < 2; ++step) {
    args.gradients = upload_values(stream, golden_gradients(step));
    sgd_update(stream, args);
  }
  EXPECT_THAT(download_values(stream, args.weights), ::testing::Pointwise(::testing::FloatNear(2e-6F), want));
}

TEST(SgdUpdate, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 17);
  for (const KernelCase& kernel_case : sgd_update_cases()) {
    const CaseResult result = kernel_case.run(stream);
    EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
  }
}

}  // namespace
}  // namespace athanor::kernels
