// adamw_update: wrong use, a flagged step, elements between tensors, and folding of a long grid. The cases against the plain loop run in
// kernels/cases_test.cpp.
#include "kernels/adamw_update/adamw_update.h"

#include <cstring>
#include <limits>

#include "kernels/adamw_update/adamw_update_reference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

void expect_refused(const std::vector<AdamwSegment>& segments, const char* message) {
  try {
    upload_segments(testing::stream(), segments);
    FAIL() << "no error: " << message;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(message));
  }
}

// A slab of 192 elements with a tensor in [64, 101), and everything else NaN: what must not be touched keeps its bits.
AdamwUpdate slab_with_a_hole(device::Stream& stream, const std::vector<float>& stats) {
  std::vector<float> values = test_values(192, 1);
  for (size_t i = 0; i < values.size(); ++i) {
    if (i < 64 || i >= 101) values[i] = kNan;
  }
  AdamwUpdate args = adamw_args({}, 1);
  args.weights = upload_values(stream, values);
  args.gradients = upload_values(stream, values);
  for (float& value : values) value = value * value;
  args.m = upload_values(stream, values);
  args.v = upload_values(stream, values);
  args.segments = upload_segments(stream, std::vector<AdamwSegment>{{64, 101, 0.1F}});
  args.stats = upload_values(stream, stats);
  args.count = 192;
  return args;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b, size_t begin, size_t end) {
  return std::memcmp(a.data() + begin, b.data() + begin, (end - begin) * sizeof(float)) == 0;
}

TEST(AdamwUpdate, RefusesSegmentsThatCannotBe) {
  expect_refused({}, "adamw_update: no segments");
  expect_refused({{32, 64, 0}}, "segment 0 begins at element 32");
  expect_refused({{0, 64, 0}, {64, 64, 0}}, "segment 1 goes from element 64 to 64");
  expect_refused({{0, 65, 0}, {64, 128, 0}}, "segment 1 shares the block at element 64");
  expect_refused({{0, 64, -0.1F}}, "segment 0 has a weight decay of -0.1");
  expect_refused({{0, 64, kNan}}, "segment 0 has a weight decay of nan");
}

TEST(AdamwUpdate, RefusesSegmentsBeyondTheSlab) {
  device::Stream& stream = testing::stream();
  AdamwUpdate args = slab_with_a_hole(stream, {1, 1, 0, 0});
  args.segments = upload_segments(stream, std::vector<AdamwSegment>{{192, 200, 0}});
  try {
    adamw_update(stream, args);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("adamw_update: the segments cover 4 blocks of 64 elements but the slab has 192 elements"));
  }
}

TEST(AdamwUpdate, RefusesMomentsOfAnotherSizeAndSettingsOutOfRange) {
  device::Stream& stream = testing::stream();
  AdamwUpdate args = slab_with_a_hole(stream, {1, 1, 0, 0});
  args.bias_correction1 = 0;
  try {
    adamw_update(stream, args);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("adamw_update: bias_correction1 is 0"));
  }
  args.v = poisoned(stream, 191);
  try {
    adamw_update(stream, args);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("adamw_update: v has 764 bytes but 192 values"));
  }
}

TEST(AdamwUpdate, ChangesNoBitWhenTheFlagIsSet) {
  device::Stream& stream = testing::stream();
  const AdamwUpdate args = slab_with_a_hole(stream, {kNan, 0, 1, 0});
  const std::vector<float> weights = download_values(stream, args.weights);
  const std::vector<float> m = download_values(stream, args.m);
  const std::vector<float> v = download_values(stream, args.v);
  adamw_update(stream, args);
  EXPECT_TRUE(same_bits(weights, download_values(stream, args.weights), 0, 192));
  EXPECT_TRUE(same_bits(m, download_values(stream, args.m), 0, 192));
  EXPECT_TRUE(same_bits(v, download_values(stream, args.v), 0, 192));
}

TEST(AdamwUpdate, LeavesElementsBetweenTensorsAlone) {
  device::Stream& stream = testing::stream();
  const AdamwUpdate args = slab_with_a_hole(stream, {1, 1, 0, 0});
  const std::vector<float> before = download_values(stream, args.weights);
  const std::vector<float> moments = download_values(stream, args.m);
  adamw_update(stream, args);
  const std::vector<float> after = download_values(stream, args.weights);
  for (const auto& [begin, end] : {std::pair{0, 64}, std::pair{101, 192}}) {
    const auto from = static_cast<size_t>(begin);
    const auto to = static_cast<size_t>(end);
    EXPECT_TRUE(same_bits(before, after, from, to));
    EXPECT_TRUE(same_bits(moments, download_values(stream, args.m), from, to));
    EXPECT_TRUE(same_bits(moments, download_values(stream, args.v), from, to));
  }
  for (size_t i = 64; i < 101; ++i) EXPECT_NE(before[i], after[i]) << i;
}

TEST(AdamwUpdate, DecaysOnlyWhereTold) {
  device::Stream& stream = testing::stream();
  const std::vector<float> ones(192, 1.0F);
  const std::vector<float> zeros(192, 0.0F);
  AdamwUpdate args = adamw_args({}, 1);
  args.weights = upload_values(stream, ones);
  args.gradients = upload_values(stream, zeros);
  args.m = upload_values(stream, zeros);
  args.v = upload_values(stream, zeros);
  args.segments = upload_segments(stream, std::vector<AdamwSegment>{{0, 64, 0}, {64, 128, 0.5F}});
  args.stats = upload_values(stream, std::vector<float>{0, 1, 0, 0});
  args.count = 192;
  adamw_update(stream, args);
  const std::vector<float> weights = download_values(stream, args.weights);
  for (size_t i = 0; i < 192; ++i) EXPECT_FLOAT_EQ(weights[i], i >= 64 && i < 128 ? 0.95F : 1.0F) << i;
}

TEST(AdamwUpdate, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 17);
  for (const KernelCase& kernel_case : adamw_update_cases()) {
    const CaseResult result = kernel_case.run(stream);
    EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
  }
}

}  // namespace
}  // namespace athanor::kernels
