// adamw_8bit_update: wrong use, a flagged step, elements between tensors, the code itself, the memory it saves, a longer run beside
// adamw_update, and folding of a long grid. The cases against the plain loop run in kernels/cases_test.cpp.
#include "kernels/adamw_8bit_update/adamw_8bit_update.h"

#include "kernels/adamw_8bit_update/adamw_8bit_update_reference.h"
#include "kernels/adamw_8bit_update/dynamic_code.h"
#include "kernels/adamw_update/adamw_update_reference.h"
#include "kernels/fp32_to_fp16/fp32_to_fp16_reference.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace athanor::kernels {
namespace {

using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A slab of 192 elements with a tensor in [64, 101), weights and gradients elsewhere NaN.
Adamw8bitUpdate slab_with_a_hole(device::Stream& stream, const std::vector<float>& stats) {
  std::vector<float> values = test_values(192, 1);
  for (size_t i = 0; i < values.size(); ++i) {
    if (i < 64 || i >= 101) values[i] = kNan;
  }
  Adamw8bitUpdate args;
  static_cast<AdamwStep&>(args) = adamw_step({}, 1);
  args.weights = upload_values(stream, values);
  args.gradients = upload_values(stream, values);
  args.m_codes = upload_values(stream, std::vector<uint32_t>(48, 0x12345678U));
  args.v_codes = upload_values(stream, std::vector<uint32_t>(48, 0x9abcdef0U));
  args.scales = upload_values(stream, std::vector<float>{0.5F, 0.25F});
  args.blocks = upload_8bit_blocks(stream, std::vector<Segment>{{64, 101, 0.1F}});
  args.stats = upload_values(stream, stats);
  args.mirror = upload_values(stream, std::vector<uint32_t>(96, 0x11112222U));
  args.count = 192;
  return args;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b, size_t begin, size_t end) {
  return std::memcmp(a.data() + begin, b.data() + begin, (end - begin) * sizeof(float)) == 0;
}

void expect_refused(const Adamw8bitUpdate& args, const char* message) {
  try {
    adamw_8bit_update(testing::stream(), args);
    FAIL() << "no error: " << message;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(message));
  }
}

TEST(Adamw8bitUpdate, RefusesWhatCannotBe) {
  device::Stream& stream = testing::stream();
  Adamw8bitUpdate args = slab_with_a_hole(stream, {1, 1, 0, 0});
  args.eps = 0;
  expect_refused(args, "adamw_8bit_update: eps is 0");
  args.mirror = poisoned(stream, 95);
  expect_refused(args, "adamw_8bit_update: mirror has 380 bytes but 96 values");
  args.scales = poisoned(stream, 1);
  expect_refused(args, "adamw_8bit_update: scales has 4 bytes but 2 values");
  args.blocks = upload_8bit_blocks(stream, std::vector<Segment>{{64, 200, 0}});
  expect_refused(args, "adamw_8bit_update: the blocks end at element 200 but the slab has 192");
}

TEST(Adamw8bitUpdate, RefusesTensorsThatOverlap) {
  try {
    upload_8bit_blocks(testing::stream(), std::vector<Segment>{{64, 128, 0}, {0, 65, 0}});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("segments: the one that begins at element 64 lies within the one from 0 to 65"));
  }
}

TEST(Adamw8bitUpdate, ChangesNoBitWhenTheFlagIsSet) {
  device::Stream& stream = testing::stream();
  const Adamw8bitUpdate args = slab_with_a_hole(stream, {kNan, 0, 1, 0});
  const std::vector<float> weights = download_values(stream, args.weights);
  adamw_8bit_update(stream, args);
  EXPECT_TRUE(same_bits(weights, download_values(stream, args.weights), 0, 192));
  EXPECT_THAT(download_words(stream, args.m_codes), ::testing::Each(0x12345678U));
  EXPECT_THAT(download_words(stream, args.v_codes), ::testing::Each(0x9abcdef0U));
  EXPECT_THAT(download_values(stream, args.scales), ::testing::ElementsAre(0.5F, 0.25F));
  EXPECT_THAT(download_words(stream, args.mirror), ::testing::Each(0x11112222U));
}

TEST(Adamw8bitUpdate, LeavesElementsBetweenTensorsAlone) {
  device::Stream& stream = testing::stream();
  const Adamw8bitUpdate args = slab_with_a_hole(stream, {1, 1, 0, 0});
  const std::vector<float> before = download_values(stream, args.weights);
  adamw_8bit_update(stream, args);
  const std::vector<float> after = download_values(stream, args.weights);
  const std::vector<uint32_t> mirror = download_words(stream, args.mirror);
  EXPECT_TRUE(same_bits(before, after, 0, 64));
  EXPECT_TRUE(same_bits(before, after, 101, 192));
  for (size_t i = 64; i < 101; ++i) EXPECT_NE(before[i], after[i]) << i;
  for (size_t word = 0; word < 96; ++word) {
    if (word >= 32 && word <= 50) continue;
    EXPECT_EQ(mirror[word], 0x11112222U) << word;
  }
  EXPECT_EQ(mirror[50] >> 16, 0x1111U);  // element 101
  EXPECT_THAT(download_values(stream, args.scales), ::testing::Each(::testing::Gt(0.0F)));
}

// The published tables: 256 different values, symmetric but for the ends where signed, and a code for every one of them.
TEST(Adamw8bitUpdate, CodesEveryValueOfTheTablesAsItself) {
  const std::array<float, 256> m = m_code_values();
  const std::array<float, 256> v = v_code_values();
  EXPECT_FLOAT_EQ(m[0], -0.99296875F);
  EXPECT_EQ(m[127], 0);
  EXPECT_FLOAT_EQ(m[128], 5.5e-7F);
  EXPECT_EQ(m[255], 1);
  EXPECT_EQ(v[0], 0);
  EXPECT_FLOAT_EQ(v[1], 3.25e-7F);
  EXPECT_FLOAT_EQ(v[254], 0.99648437F);
  EXPECT_EQ(v[255], 1);
  for (int code = 0; code < 256; ++code) {
    const auto i = static_cast<size_t>(code);
    EXPECT_EQ(encoded_m(m[i]), code);
    EXPECT_EQ(encoded_v(v[i]), code);
  }
  EXPECT_TRUE(std::is_sorted(m.begin(), m.end()));
  EXPECT_TRUE(std::is_sorted(v.begin(), v.end()));
  for (size_t i = 0; i < 127; ++i) EXPECT_EQ(m[i], -m[254 - i]);
}

// Half way between two values either will do, so that a code may be off by what f32 makes of the place: one part in a million of x.
TEST(Adamw8bitUpdate, FindsTheNearestCode) {
  const std::array<float, 256> m = m_code_values();
  const std::array<float, 256> v = v_code_values();
  for (int i = 0; i < 20000; ++i) {
    const float x = std::pow(10.0F, -8.0F * static_cast<float>(i) / 20000);
    for (const float signed_x : {x, -x}) {
      const double got = m[static_cast<size_t>(encoded_m(signed_x))];
      const double best = m[nearest_code_reference(m, signed_x, 0)];
      EXPECT_LE(std::abs(got - signed_x) - std::abs(best - signed_x), 1e-6 * x) << signed_x;
    }
    const double got = v[static_cast<size_t>(encoded_v(x))];
    const double best = v[nearest_code_reference(v, x, 1)];
    EXPECT_LE(std::abs(got - x) - std::abs(best - x), 1e-6 * x) << x;
  }
  EXPECT_EQ(encoded_m(0), 127);
  EXPECT_EQ(encoded_m(-1), 0);
  EXPECT_EQ(encoded_v(0), 0);
  EXPECT_EQ(encoded_v(1e-30F), 1);
}

TEST(Adamw8bitUpdate, TakesAtMost27PercentOfTheMomentsMemory) {
  device::Stream& stream = testing::stream();
  // A small Llama's tensors: embedding, and layers with norms, attention and feed-forward.
  std::vector<Segment> segments;
  uint32_t begin = 0;
  for (const uint32_t size : {512U * 64U, 64U, 64U * 64U, 64U * 32U, 64U * 172U, 172U * 64U, 64U, 100U, 1U}) {
    segments.push_back({begin, begin + size, 0});
    begin += (size + 63) / 64 * 64;
  }
  const Adamw8bitBlocks blocks = upload_8bit_blocks(stream, segments);
  const double bytes = 2 * 4.0 * static_cast<double>(code_words(begin)) + 8.0 * static_cast<double>(blocks.count);
  EXPECT_LE(bytes, 0.27 * 2 * 4 * begin);
}

// Each of 300 weights is pulled to a target of its own by noisy gradients whose sizes span three decades. After 200 steps the 8-bit
// moments leave the weights nearly as close to the targets as those in f32: 0.079 from them on average instead of 0.072.
TEST(Adamw8bitUpdate, LearnsNearlyAsWellAsAdamwUpdate) {
  device::Stream& stream = testing::stream();
  const int64_t count = 300;
  const std::vector<float> targets = test_values(count, 1);
  const std::vector<float> zeros(static_cast<size_t>(count), 0.0F);
  AdamwSettings settings;
  settings.lr = 0.02;
  const auto gradients_of = [&](const std::vector<float>& weights, uint32_t step) {
    std::vector<float> gradients = test_values(count, 100 + step, 0.3F);
    for (size_t i = 0; i < gradients.size(); ++i) {
      gradients[i] = (gradients[i] + weights[i] - targets[i]) * std::pow(10.0F, -static_cast<float>(i % 4));
    }
    return upload_values(stream, gradients);
  };
  const auto distance = [&](const std::vector<float>& weights) {
    double squares = 0;
    for (size_t i = 0; i < weights.size(); ++i) squares += std::pow(weights[i] - targets[i], 2);
    return std::sqrt(squares / static_cast<double>(count));
  };
  AdamwUpdate full;
  full.m = upload_values(stream, zeros);
  full.v = upload_values(stream, zeros);
  full.segments = upload_segments(stream, std::vector<Segment>{{0, 300, 0}});
  Adamw8bitUpdate small;
  small.blocks = upload_8bit_blocks(stream, std::vector<Segment>{{0, 300, 0}});
  small.m_codes = upload_values(stream, std::vector<float>(75, 0.0F));
  small.v_codes = upload_values(stream, std::vector<float>(75, 0.0F));
  small.scales = upload_values(stream, std::vector<float>(4, 0.0F));
  full.weights = upload_values(stream, zeros);
  small.weights = upload_values(stream, zeros);
  full.stats = small.stats = upload_values(stream, std::vector<float>{1, 1, 0, 0});
  full.count = small.count = count;
  for (int t = 1; t <= 200; ++t) {
    static_cast<AdamwStep&>(full) = static_cast<AdamwStep&>(small) = adamw_step(settings, t);
    full.gradients = gradients_of(download_values(stream, full.weights), static_cast<uint32_t>(t));
    small.gradients = gradients_of(download_values(stream, small.weights), static_cast<uint32_t>(t));
    adamw_update(stream, full);
    adamw_8bit_update(stream, small);
  }
  const double full_distance = distance(download_values(stream, full.weights));
  const double small_distance = distance(download_values(stream, small.weights));
  EXPECT_LT(full_distance, 0.2);
  EXPECT_LT(small_distance, 1.25 * full_distance);
}

TEST(Adamw8bitUpdate, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 9);
  for (const KernelCase& kernel_case : adamw_8bit_update_cases()) {
    const CaseResult result = kernel_case.run(stream);
    EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
  }
}

}  // namespace
}  // namespace athanor::kernels
