// The ways through a launcher's choices, and their timing.
#include "kernels/tuner.h"

#include "device/webgpu/dry_device.h"
#include "kernels/matmul/matmul.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

using device::webgpu::SubgroupMatrix;

std::unique_ptr<device::Device> dry_gpu(bool has_units) {
  device::webgpu::DryRun run;
  run.has_f16 = run.has_subgroups = has_units;
  if (has_units) {
    run.subgroup_matrices = {{SubgroupMatrix::Component::F16, SubgroupMatrix::Component::F32, 16, 16, 16, 32}};
  }
  return device::webgpu::open_dry_device(std::move(run));
}

std::vector<std::string> texts_of(const std::vector<TunedWay>& ways) {
  std::vector<std::string> texts;
  for (const TunedWay& way : ways) texts.push_back(way.text());
  return texts;
}

void multiply(device::Stream& stream, int64_t m, int64_t n, int64_t k, MatMulPrecision precision) {
  const auto allocate = [&](int64_t count) { return stream.device().allocate(4 * count, "operand"); };
  matmul(stream, {allocate(m * k), allocate(k * n), allocate(m * n), m, n, k, Accumulate::No, DType::F32, precision});
}

TEST(Tuner, FindsTheCallsForWhichThereIsAChoice) {
  const auto dry = dry_gpu(false);
  const std::vector<TunableCall> calls = tunable_calls(*dry, MatMulPrecision::Highest, [](device::Stream& stream) {
    multiply(stream, 64, 64, 1024, MatMulPrecision::Highest);
    multiply(stream, 64, 60, 1030, MatMulPrecision::Highest);  // of the same class
    multiply(stream, 512, 512, 512, MatMulPrecision::Highest);
    multiply(stream, 4, 64, 1024, MatMulPrecision::Highest);  // few rows
    multiply(stream, 64, 64, 64, MatMulPrecision::Highest);   // too short for parts
  });
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].sizes, (device::ChoiceSizes{512, 512, 512}));
  EXPECT_EQ(calls[1].sizes, (device::ChoiceSizes{64, 64, 1024}));
  EXPECT_EQ(calls[1].calls, 2);
  EXPECT_EQ(calls[1].kernel, "matmul");
}

TEST(Tuner, TriesPartsAroundTheRulesAndPowersOfTwo) {
  const auto dry = dry_gpu(false);
  EXPECT_THAT(texts_of(ways_of(*dry, {"matmul_at", {64, 64, 2048}})),
              ::testing::ElementsAre("parts 8", "parts 1", "parts 2", "parts 4", "parts 16", "parts 32", "parts 7",
                                     "parts 9", "parts 12"));
}

TEST(Tuner, TriesUnitsAndTilesEachWithItsParts) {
  const auto dry = dry_gpu(true);
  const std::vector<TunedWay> ways = ways_of(*dry, {"matmul", {512, 512, 1024}, MatMulPrecision::Medium});
  EXPECT_TRUE(ways.front().is_rule);
  EXPECT_EQ(std::count_if(ways.begin(), ways.end(), [](const TunedWay& way) { return way.is_rule; }), 1);
  const std::vector<std::string> texts = texts_of(ways);
  EXPECT_EQ(texts.front(), "units, panels, parts_medium 2");
  EXPECT_THAT(texts, ::testing::Contains("units, panels, parts_medium 1"));
  EXPECT_THAT(texts, ::testing::Contains("units, rows, parts_medium 2"));
  EXPECT_THAT(texts, ::testing::Contains("tiles, narrow, parts 4"));
  EXPECT_THAT(texts, ::testing::Contains("tiles, wide, parts 4"));
  for (const std::string& text : texts)
    EXPECT_EQ(text.starts_with("tiles"), text.find("parts_medium") == std::string::npos) << text;
}

TEST(Tuner, OffersTheUnitsToSmallProductsThatTheRuleKeepsFromThem) {
  const auto dry = dry_gpu(true);
  const std::vector<TunedWay> ways = ways_of(*dry, {"matmul", {128, 128, 256}, MatMulPrecision::High});
  EXPECT_EQ(ways.front().text(), "tiles, narrow, parts 1");
  EXPECT_THAT(texts_of(ways), ::testing::Contains("units, parts_high 1"));
}

TEST(Tuner, FindsNothingOnTheCpu) {
  if (testing::is_webgpu()) GTEST_SKIP() << "the CPU's";
  EXPECT_TRUE(tunable_calls(testing::device(), MatMulPrecision::Highest, [](device::Stream& stream) {
                multiply(stream, 64, 64, 1024, MatMulPrecision::Highest);
              }).empty());
  EXPECT_EQ(choices_of(testing::stream()), nullptr);
}

TEST(Tuner, TimesEveryWayAndPutsTheTableBack) {
  if (!testing::is_webgpu()) GTEST_SKIP() << "WebGPU's";
  const auto before = std::make_shared<const device::ChoiceTable>();
  use_choices(testing::stream(), before);
  for (const char* kernel : {"matmul", "matmul_at_acc", "matmul_swiglu_a_w16"}) {
    const TunedCall tuned = tune_call(testing::device(), {kernel, {64, 64, 1024}}, 0.05).value();
    ASSERT_GT(tuned.ways.size(), 4U);
    for (const TunedWay& way : tuned.ways) EXPECT_EQ(way.error, "") << kernel << " " << way.text();
    EXPECT_GT(tuned.rule_way().milliseconds, 0);
    EXPECT_GE(tuned.gain(), 0);
    EXPECT_TRUE(tuned.best == 0 || tuned.gain() > 0.03);
    EXPECT_EQ(choices_of(testing::stream()), before);
  }
  use_choices(testing::stream(), nullptr);
}

TEST(Tuner, KeepsWhatIsFasterAndForgetsWhatIsNot) {
  device::ChoiceTable table;
  table.set({"matmul", "parts", {64, 64, 1024}, "32"});
  table.set({"matmul_t", "parts", {64, 64, 1024}, "2"});
  TunedCall tuned{{"matmul", {64, 64, 1024}}, {}, 0, 0};
  tuned.ways.push_back({{{"matmul", "parts", {64, 64, 1024}, "4"}}, true, 2.0, ""});
  tuned.ways.push_back({{{"matmul", "parts", {64, 64, 1024}, "16"}}, false, 1.0, ""});
  tuned.best = 1;
  keep(tuned, table);
  EXPECT_EQ(table.find({"matmul", "parts", {64, 64, 1024}, 1, 32, 1}), 16);
  tuned.best = 0;
  keep(tuned, table);
  EXPECT_EQ(table.find({"matmul", "parts", {64, 64, 1024}, 1, 32, 1}), std::nullopt);
  EXPECT_EQ(table.size(), 1);
}

}  // namespace
}  // namespace athanor::kernels
