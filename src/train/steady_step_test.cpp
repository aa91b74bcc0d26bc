// A step in steady state makes no buffer and reads back a few numbers; the norms of each tensor cost one more read, and change nothing.
#include "device/read_back.h"
#include "test_device.h"
#include "train/step_test.h"

#include <gtest/gtest.h>

#include <cmath>

namespace athanor::train {
namespace {

using MeasureNorms = TrainStep::MeasureNorms;

struct Kind {
  const char* name;
  OptimizerKind optimizer;
  nn::Precision precision;
  double ema_decay;
  double dropout;
};

class SteadySteps : public ::testing::TestWithParam<Kind> {
 protected:
  SteadySteps() : run_(stream_, settings(), GetParam().precision, GetParam().ema_decay, config()) {}

  static OptimizerSettings settings() {
    OptimizerSettings settings;
    settings.kind = GetParam().optimizer;
    return settings;
  }
  static nn::LlamaConfig config() {
    nn::LlamaConfig config = step_test_config();
    config.resid_pdrop = config.embd_pdrop = GetParam().dropout;
    return config;
  }

  /// As the trainer takes it: the report of the step before is read while this one is computed.
  void record(uint64_t number, MeasureNorms norms = MeasureNorms::No) {
    run_.add(test_batch(number, 4, 16), 2, static_cast<int64_t>(number));
    run_.step.drain();
    run_.step.apply(1e-3, 0, norms);
  }
  int64_t num_tensors() const { return static_cast<int64_t>(run_.model.parameters().all().size()); }

  device::Stream& stream_ = testing::stream();
  TestRun run_;
};

TEST_P(SteadySteps, MakeNoBufferAndReadBackAtMost64Bytes) {
  uint64_t number = 0;
  for (; number < 4; ++number) record(number);
  for (; number < 8; ++number) {
    const int64_t buffers = stream_.device().memory().allocations;
    const int64_t bytes = device::read_back_bytes(stream_);
    record(number);
    EXPECT_EQ(stream_.device().memory().allocations, buffers) << "step " << number;
    EXPECT_LE(device::read_back_bytes(stream_) - bytes, 64) << "step " << number;
    EXPECT_GT(device::read_back_bytes(stream_) - bytes, 0) << "nothing is counted";
  }
  run_.step.drain();
}

TEST_P(SteadySteps, ReadAtMost16BytesATensorMoreForTheNormsAndNoBufferOnceTheyWereMeasured) {
  uint64_t number = 0;
  for (; number < 4; ++number) record(number);
  record(number++, MeasureNorms::Yes);
  record(number++);
  record(number++, MeasureNorms::Yes);
  const int64_t buffers = stream_.device().memory().allocations;
  const int64_t bytes = device::read_back_bytes(stream_);
  record(number++, MeasureNorms::Yes);
  EXPECT_EQ(stream_.device().memory().allocations, buffers);
  EXPECT_LE(device::read_back_bytes(stream_) - bytes, 64 + 16 * num_tensors());
  const int64_t after = device::read_back_bytes(stream_);
  record(number++);
  EXPECT_EQ(stream_.device().memory().allocations, buffers);
  EXPECT_LE(device::read_back_bytes(stream_) - after, 64);
  run_.step.drain();
}

INSTANTIATE_TEST_SUITE_P(OfEachOptimizer, SteadySteps,
                         ::testing::Values(Kind{"adamw", OptimizerKind::Adamw, nn::Precision::F32, 0, 0},
                                           Kind{"adamw_8bit", OptimizerKind::Adamw8bit, nn::Precision::F32, 0, 0},
                                           Kind{"sgd", OptimizerKind::Sgd, nn::Precision::F32, 0, 0},
                                           Kind{"muon", OptimizerKind::Muon, nn::Precision::F32, 0, 0},
                                           Kind{"adamw_mixed_averaged_with_dropout", OptimizerKind::Adamw,
                                                nn::Precision::Mixed, 0.9, 0.1}),
                         [](const auto& info) { return std::string(info.param.name); });

double norm_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

TEST(TensorNorms, AreThoseOfGradientWeightsAndUpdateAndChangeNoBit) {
  constexpr double kRounding = 1e-5;
  device::Stream& stream = testing::stream();
  TestRun run(stream, {});
  TestRun plain(stream, {});
  EXPECT_TRUE(run.run(0).tensor_norms.empty());
  plain.run(0);
  const auto before = run.weights();
  run.add(test_batch(1, 4, 16), 4, 1);
  const auto gradients = run.gradients();
  run.step.apply(3e-3, 0, MeasureNorms::Yes);
  const StepReport report = *run.step.drain();
  const auto after = run.weights();
  plain.run(1);
  ASSERT_EQ(report.tensor_norms.size(), before.size());
  for (size_t i = 0; i < before.size(); ++i) {
    std::vector<float> update(before[i].size());
    for (size_t k = 0; k < update.size(); ++k) update[k] = after[i][k] - before[i][k];
    const TensorNorms& norms = report.tensor_norms[i];
    const std::string& name = run.model.parameters().all()[i].spec.name;
    EXPECT_NEAR(norms.gradient, norm_of(gradients[i]), kRounding * norm_of(gradients[i])) << name;
    EXPECT_NEAR(norms.weights, norm_of(after[i]), kRounding * norm_of(after[i])) << name;
    EXPECT_NEAR(norms.update, norm_of(update), kRounding * norm_of(update)) << name;
    EXPECT_GT(norms.update, 0) << name;
  }
  run.run(2);
  plain.run(2);
  EXPECT_EQ(run.weights(), plain.weights());
}

TEST(TensorNorms, OfARefusedStepHaveNoUpdate) {
  TestRun run(testing::stream(), {});
  const double norm = run.run(0).gradient_norm;
  const StepReport report = run.run(1, 3e-3, norm / 100, MeasureNorms::Yes);
  EXPECT_EQ(report.outcome, StepOutcome::Outlier);
  for (const TensorNorms& norms : report.tensor_norms) {
    EXPECT_EQ(norms.update, 0);
    EXPECT_GT(norms.weights, 0);
  }
}

}  // namespace
}  // namespace athanor::train
