// What a step changes and what it must not: refused gradients, micro-batches, targets that do not count.
#include "train/step_test.h"

#include "base/fault.h"
#include "test_device.h"

#include <gtest/gtest.h>

#include <cmath>

namespace athanor::train {
namespace {

class Steps : public ::testing::TestWithParam<OptimizerKind> {
 protected:
  OptimizerSettings settings() const {
    OptimizerSettings settings;
    settings.kind = GetParam();
    return settings;
  }
  device::Stream& stream_ = testing::stream();
};

TEST_P(Steps, WithAnInfiniteGradientChangeNoWeightAndNameItsTensor) {
  TestRun run(stream_, settings());
  for (uint64_t number = 0; number < 3; ++number) EXPECT_EQ(run.run(number).outcome, StepOutcome::Applied);
  const auto before = run.weights();
  std::vector<std::vector<uint32_t>> state_before;
  for (const StateTensor& part : run.step.optimizer().state()) state_before.push_back(words_of(stream_, part.buffer));
  set_fault("infinite-gradient:1:1");
  const StepReport report = run.run(3);
  set_fault("");
  EXPECT_EQ(report.outcome, StepOutcome::NotFinite);
  const auto& all = run.model.parameters().all();
  EXPECT_EQ(report.worst_tensor, all[all.size() / 2].spec.name);
  EXPECT_EQ(run.weights(), before);
  size_t index = 0;
  for (const StateTensor& part : run.step.optimizer().state())
    EXPECT_EQ(words_of(stream_, part.buffer), state_before[index++]) << part.name;
  EXPECT_EQ(run.step.applied_steps(), 3);
  EXPECT_EQ(run.run(4).outcome, StepOutcome::Applied);
  EXPECT_NE(run.weights(), before);
}

TEST_P(Steps, WithANormAboveTheLargestChangeNoWeight) {
  TestRun run(stream_, settings());
  const double norm = run.run(0).gradient_norm;
  const auto before = run.weights();
  const StepReport report = run.run(1, 3e-3, norm / 100);
  EXPECT_EQ(report.outcome, StepOutcome::Outlier);
  EXPECT_FALSE(report.worst_tensor.empty());
  EXPECT_TRUE(std::isfinite(report.loss));
  EXPECT_EQ(run.weights(), before);
}

TEST_P(Steps, WithoutATargetChangeNoWeightThoughThereIsMomentum) {
  TestRun run(stream_, settings());
  run.run(0);
  const auto before = run.weights();
  TestBatch batch = test_batch(1, 4);
  keep_targets(batch, {0, 0, 0, 0});
  run.add(batch, 2);
  run.step.apply(3e-3);
  const StepReport report = *run.step.drain();
  EXPECT_EQ(report.outcome, StepOutcome::NoTargets);
  EXPECT_EQ(report.loss, 0);
  EXPECT_EQ(run.weights(), before);
  EXPECT_EQ(run.step.applied_steps(), 1);
}

TEST_P(Steps, LeaveAMirrorThatEqualsTheCastOfTheWeights) {
  TestRun run(stream_, settings(), nn::Precision::Mixed);
  for (uint64_t number = 0; number < 4; ++number) run.run(number);
  for (const nn::Slab& slab : run.model.parameters().slabs()) {
    const std::vector<uint32_t> written = words_of(stream_, slab.mirror);
    stream_.fill_zero(slab.mirror);
    run.model.parameters().refresh_mirror(stream_);
    EXPECT_EQ(words_of(stream_, slab.mirror), written);
  }
}

INSTANTIATE_TEST_SUITE_P(OfEachOptimizer, Steps,
                         ::testing::Values(OptimizerKind::Adamw, OptimizerKind::Adamw8bit, OptimizerKind::Sgd,
                                           OptimizerKind::Muon),
                         [](const auto& info) { return std::string(name_of(info.param)); });

/// Largest difference of a tensor over the tensor's largest value, over all tensors.
double largest_difference(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  double largest = 0;
  for (size_t t = 0; t < a.size(); ++t) {
    double scale = 0;
    double difference = 0;
    for (size_t i = 0; i < a[t].size(); ++i) {
      scale = std::max(scale, std::abs(static_cast<double>(b[t][i])));
      difference = std::max(difference, std::abs(static_cast<double>(a[t][i]) - b[t][i]));
    }
    largest = std::max(largest, difference / scale);
  }
  return largest;
}

TEST(MicroBatches, OfRowsWithFewAndManyTargetsGiveTheGradientsOfOneBatch) {
  constexpr double kRounding = 3e-6;  // of f32, over the 102 targets that are summed in another order
  device::Stream& stream = testing::stream();
  TestBatch batch = test_batch(0, 4);
  keep_targets(batch, {3, 9, 30, 60});
  TestRun whole(stream, {});
  whole.add(batch, 4);
  TestRun parts(stream, {});
  parts.add(batch, 1);
  EXPECT_LT(largest_difference(parts.gradients(), whole.gradients()), kRounding);
  whole.step.apply(1e-3);
  parts.step.apply(1e-3);
  const StepReport a = *whole.step.drain();
  const StepReport b = *parts.step.drain();
  EXPECT_EQ(a.targets, 102);
  EXPECT_NEAR(a.loss, b.loss, 1e-6 * a.loss);
  EXPECT_NEAR(a.gradient_norm, b.gradient_norm, kRounding * a.gradient_norm);
}

TEST(MicroBatches, WithoutATargetAddNothing) {
  device::Stream& stream = testing::stream();
  TestBatch four = test_batch(0, 4);
  keep_targets(four, {64, 0, 64, 0});
  TestRun run(stream, {});
  run.add(four, 1);
  const auto with_empty_ones = run.gradients();
  TestBatch two{{}, {}, {2, 64}};
  for (size_t row : {0U, 2U}) {
    two.ids.insert(two.ids.end(), four.ids.begin() + row * 64, four.ids.begin() + (row + 1) * 64);
    two.targets.insert(two.targets.end(), four.targets.begin() + row * 64, four.targets.begin() + (row + 1) * 64);
  }
  run.add(two, 1);
  EXPECT_EQ(run.gradients(), with_empty_ones);
}

double loss_after(device::Stream& stream, const OptimizerSettings& settings, nn::Precision precision) {
  TestRun run(stream, settings, precision);
  double sum = 0;
  for (uint64_t number = 0; number < 100; ++number) {
    const double loss = run.run(number).loss;
    if (number >= 90) sum += loss / 10;
  }
  return sum;
}

TEST(Precision, EightBitMomentsAndAMixedForwardEndWithinAPercentOfF32) {
  device::Stream& stream = testing::stream();
  OptimizerSettings eight_bits;
  eight_bits.kind = OptimizerKind::Adamw8bit;
  const double loss = loss_after(stream, {}, nn::Precision::F32);
  EXPECT_LT(loss, 2.5);  // from ln 96 = 4.56: something was learnt
  EXPECT_NEAR(loss_after(stream, eight_bits, nn::Precision::F32), loss, 0.01 * loss);
  EXPECT_NEAR(loss_after(stream, {}, nn::Precision::Mixed), loss, 0.01 * loss);
}

TEST(Precision, EightBitMomentsTakeAtMost27PercentOfTheMemory) {
  device::Stream& stream = testing::stream();
  OptimizerSettings eight_bits;
  eight_bits.kind = OptimizerKind::Adamw8bit;
  const TestRun small(stream, eight_bits);
  const TestRun large(stream, {});
  EXPECT_LE(static_cast<double>(small.step.optimizer().state_bytes()),
            0.27 * static_cast<double>(large.step.optimizer().state_bytes()));
}

}  // namespace
}  // namespace athanor::train
