// adamw_update and adamw_update_f16: wrong use, a flagged step, elements between tensors, and folding of a long grid. The cases against the plain loop run in
// kernels/cases_test.cpp.
#include "kernels/adamw_update/adamw_update.h"

#include <cstring>
#include <limits>

#include "kernels/adamw_update/adamw_update_reference.h"
#include "kernels/fp32_to_fp16/fp32_to_fp16.h"
#include "kernels/fp32_to_fp16/fp32_to_fp16_reference.h"
#include "kernels/segments/golden_gradients.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

void expect_refused(const std::vector<Segment>& segments, const char* message) {
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
  AdamwUpdate args;
  static_cast<AdamwStep&>(args) = adamw_step({}, 1);
  args.weights = upload_values(stream, values);
  args.gradients = upload_values(stream, values);
  for (float& value : values) value = value * value;
  args.m = upload_values(stream, values);
  args.v = upload_values(stream, values);
  args.segments = upload_segments(stream, std::vector<Segment>{{64, 101, 0.1F}});
  args.stats = upload_values(stream, stats);
  args.count = 192;
  return args;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b, size_t begin, size_t end) {
  return std::memcmp(a.data() + begin, b.data() + begin, (end - begin) * sizeof(float)) == 0;
}

TEST(AdamwUpdate, RefusesSegmentsThatCannotBe) {
  expect_refused({}, "segments: none were given; pass one a tensor");
  expect_refused({{32, 64, 0}}, "segment 0 begins at element 32");
  expect_refused({{0, 64, 0}, {64, 64, 0}}, "segment 1 goes from element 64 to 64");
  expect_refused({{0, 65, 0}, {64, 128, 0}}, "segment 1 shares the block at element 64");
  expect_refused({{0, 64, -0.1F}}, "segment 0 has a weight decay of -0.1");
  expect_refused({{0, 64, kNan}}, "segment 0 has a weight decay of nan");
}

TEST(AdamwUpdate, RefusesSegmentsBeyondTheSlab) {
  device::Stream& stream = testing::stream();
  AdamwUpdate args = slab_with_a_hole(stream, {1, 1, 0, 0});
  args.segments = upload_segments(stream, std::vector<Segment>{{192, 200, 0}});
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
  AdamwUpdate args;
  static_cast<AdamwStep&>(args) = adamw_step({}, 1);
  args.weights = upload_values(stream, ones);
  args.gradients = upload_values(stream, zeros);
  args.m = upload_values(stream, zeros);
  args.v = upload_values(stream, zeros);
  args.segments = upload_segments(stream, std::vector<Segment>{{0, 64, 0}, {64, 128, 0.5F}});
  args.stats = upload_values(stream, std::vector<float>{0, 1, 0, 0});
  args.count = 192;
  adamw_update(stream, args);
  const std::vector<float> weights = download_values(stream, args.weights);
  for (size_t i = 0; i < 192; ++i) EXPECT_FLOAT_EQ(weights[i], i >= 64 && i < 128 ? 0.95F : 1.0F) << i;
}

TEST(AdamwUpdateF16, RefusesAMirrorOfTheWrongSize) {
  device::Stream& stream = testing::stream();
  const AdamwUpdateF16 args{slab_with_a_hole(stream, {1, 1, 0, 0}), poisoned(stream, 192)};
  try {
    adamw_update_f16(stream, args);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("adamw_update_f16: mirror has 768 bytes but 96 values"));
  }
}

TEST(AdamwUpdateF16, ChangesNoBitOfTheMirrorWhenTheFlagIsSet) {
  device::Stream& stream = testing::stream();
  const std::vector<uint32_t> before(96, 0x12345678U);
  const AdamwUpdateF16 args{slab_with_a_hole(stream, {kNan, 0, 1, 0}), upload_values(stream, before)};
  adamw_update_f16(stream, args);
  EXPECT_EQ(download_words(stream, args.mirror), before);
}

TEST(AdamwUpdateF16, GivesTheWeightsThatAdamwUpdateGives) {
  device::Stream& stream = testing::stream();
  const AdamwUpdate plain = slab_with_a_hole(stream, {1, 1, 0, 0});
  const AdamwUpdateF16 mirrored{slab_with_a_hole(stream, {1, 1, 0, 0}), poisoned(stream, 96)};
  adamw_update(stream, plain);
  adamw_update_f16(stream, mirrored);
  EXPECT_TRUE(same_bits(download_values(stream, plain.weights), download_values(stream, mirrored.weights), 0, 192));
}

// Weights beyond the halves' range and below their normal one: what the mirror holds is decided by bits, not by the device.
TEST(AdamwUpdateF16, RoundsWeightsAtTheEndsOfTheRange) {
  device::Stream& stream = testing::stream();
  const std::vector<float> weights = {65519, 65520, -1e6F, 0x1p-14F, 0x1.8p-24F, 0x1p-25F, 0x1.002p0F, -0.0F};
  AdamwUpdateF16 args;
  args.weights = upload_values(stream, weights);
  args.gradients = upload_values(stream, std::vector<float>(8, 0.0F));
  args.m = upload_values(stream, std::vector<float>(8, 0.0F));
  args.v = upload_values(stream, std::vector<float>(8, 0.0F));
  args.segments = upload_segments(stream, std::vector<Segment>{{0, 8, 0}});
  args.stats = upload_values(stream, std::vector<float>{0, 1, 0, 0});
  args.mirror = poisoned(stream, 4);
  args.count = 8;
  adamw_update_f16(stream, args);
  EXPECT_THAT(download_words(stream, args.mirror),
              ::testing::ElementsAre(0x7c007bffU, 0x0400fc00U, 0x00000002U, 0x80003c00U));
}

// Two steps with decay, against numbers of MLX (tests/golden/make_optimizer_golden.py), which takes 1 - 0.999^t in f32: off by 2e-5 of it.
TEST(AdamwUpdate, GivesTheNumbersOfMlx) {
  device::Stream& stream = testing::stream();
  const std::vector<float> want = {0.199060F, -0.027623F, 0.258409F, 0.189218F, 0.193042F,
                                   0.552439F, 0.462427F,  0.611657F, 0.983042F, 0.716085F,
                                   1.019264F, 1.272857F,  0.977122F, 1.464906F, 1.222039F};
  AdamwUpdate args;
  args.weights = upload_values(stream, golden_weights());
  args.m = upload_values(stream, std::vector<float>(15, 0.0F));
  args.v = upload_values(stream, std::vector<float>(15, 0.0F));
  args.segments = upload_segments(stream, std::vector<Segment>{{0, 15, 0.1F}});
  args.stats = upload_values(stream, std::vector<float>{1, 1, 0, 0});
  args.count = 15;
  for (int t = 1; t <= 2; ++t) {
    static_cast<AdamwStep&>(args) = adamw_step({}, t);
    args.gradients = upload_values(stream, golden_gradients(t - 1));
    adamw_update(stream, args);
  }
  EXPECT_THAT(download_values(stream, args.weights), ::testing::Pointwise(::testing::FloatNear(1e-5F), want));
}

TEST(AdamwUpdate, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 17);
  for (const std::vector<KernelCase>& cases : {adamw_update_cases(), adamw_update_f16_cases()}) {
    for (const KernelCase& kernel_case : cases) {
      const CaseResult result = kernel_case.run(stream);
      EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
    }
  }
}

}  // namespace
}  // namespace athanor::kernels
