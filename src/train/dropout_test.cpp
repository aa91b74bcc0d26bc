// Dropout in the model: masks follow from seed, step, row and place alone, and only training has them.
#include "base/expect_error.h"
#include "test_device.h"
#include "train/step_test.h"

#include <gtest/gtest.h>

#include <cmath>

namespace athanor::train {
namespace {

nn::LlamaConfig dropping_config(double embedding = 0.1, double residual = 0.2) {
  nn::LlamaConfig config = step_test_config();
  config.embd_pdrop = embedding;
  config.resid_pdrop = residual;
  return config;
}

class ModelDropout : public ::testing::Test {
 protected:
  std::unique_ptr<TestRun> make(const nn::LlamaConfig& config = dropping_config(),
                                nn::Recompute recompute = nn::Recompute::No) {
    return std::make_unique<TestRun>(stream_, OptimizerSettings{}, nn::Precision::F32, 0, config, recompute);
  }
  std::vector<std::vector<float>> gradients_of_step(TestRun& run, int64_t step, int64_t rows_each = 4) {
    run.add(test_batch(0, 4, 16), rows_each, step);
    return run.gradients();
  }

  device::Stream& stream_ = testing::stream();
};

TEST_F(ModelDropout, GivesTheSameBitsForTheSameStepAndOthersForAnother) {
  const auto run = make();
  const auto first = gradients_of_step(*run, 3);
  EXPECT_EQ(gradients_of_step(*make(), 3), first);
  EXPECT_NE(gradients_of_step(*run, 4), first);
  EXPECT_NE(gradients_of_step(*make(step_test_config()), 3), first);
  EXPECT_NE(gradients_of_step(*make(dropping_config(0, 0.2)), 3), first);
  EXPECT_NE(gradients_of_step(*make(dropping_config(0.1, 0)), 3), first);
}

TEST_F(ModelDropout, IsRepeatedToTheBitWhereBlocksAreRecomputed) {
  const auto kept = make();
  const auto recomputed = make(dropping_config(), nn::Recompute::Blocks);
  for (uint64_t number = 0; number < 3; ++number) {
    kept->run(number);
    recomputed->run(number);
  }
  EXPECT_EQ(kept->weights(), recomputed->weights());
}

TEST_F(ModelDropout, DropsTheSameInMicroBatchesAsInOneBatch) {
  constexpr double kRounding = 3e-6;
  const auto run = make();
  const auto whole = gradients_of_step(*run, 0, 4);
  const auto parts = gradients_of_step(*run, 0, 1);
  for (size_t t = 0; t < whole.size(); ++t) {
    double scale = 0;
    for (const float value : whole[t]) scale = std::max(scale, std::abs(static_cast<double>(value)));
    for (size_t i = 0; i < whole[t].size(); ++i) ASSERT_NEAR(parts[t][i], whole[t][i], kRounding * scale);
  }
}

TEST_F(ModelDropout, GivesEachRowOfAMicroBatchItsOwnMask) {
  // The same row four times, one a micro-batch: with masks that repeated, the first row alone would give the same mean loss.
  const TestBatch one = test_batch(0, 1, 16);
  TestBatch four{{}, {}, {4, 16}};
  for (int i = 0; i < 4; ++i) {
    four.ids.insert(four.ids.end(), one.ids.begin(), one.ids.end());
    four.targets.insert(four.targets.end(), one.targets.begin(), one.targets.end());
  }
  const auto loss = [&](const TestBatch& batch) {
    const auto run = make();
    run->add(batch, 1);
    run->step.apply(0);
    return run->step.drain()->loss;
  };
  EXPECT_GT(std::abs(loss(four) - loss(one)), 1e-5);
}

TEST_F(ModelDropout, IsOffInEvaluation) {
  const TestBatch batch = test_batch(0, 4, 16);
  const auto loss = [&](const nn::LlamaConfig& config) {
    const auto run = make(config);
    Evaluation evaluation(stream_, run->model);
    evaluation.add(batch.ids, batch.targets, batch.rows);
    return evaluation.mean_loss();
  };
  EXPECT_EQ(loss(dropping_config(0.5, 0.5)), loss(step_test_config()));
}

TEST_F(ModelDropout, OfTheEmbeddingLeavesItsShareOfARowWithoutGradient) {
  // A row of the embedding that one token reads has a gradient of zero where that was dropped: the head is not tied here.
  nn::LlamaConfig config = dropping_config(0.3, 0);
  config.tie_word_embeddings = false;
  const auto run = make(config);
  const auto gradients = gradients_of_step(*run, 0);
  const TestBatch batch = test_batch(0, 4, 16);
  int64_t values = 0;
  int64_t zeros = 0;
  for (uint32_t token = 0; token < 96; ++token) {
    if (std::count(batch.ids.begin(), batch.ids.end(), token) != 1) continue;
    for (int64_t c = 0; c < 64; ++c) {
      values += 1;
      zeros += gradients[0][static_cast<size_t>(token * 64 + c)] == 0 ? 1 : 0;
    }
  }
  ASSERT_GT(values, 1000);
  const double share = static_cast<double>(zeros) / static_cast<double>(values);
  EXPECT_NEAR(share, 0.3, 4 * std::sqrt(0.3 * 0.7 / static_cast<double>(values)));
}

TEST_F(ModelDropout, OfAttentionIsRefusedByNameInTrainingAlone) {
  nn::LlamaConfig config = step_test_config();
  config.attention_dropout = 0.1;
  EXPECT_ERROR(nn::Llama(stream_, config, nn::Trained::Yes), "attention_dropout is 0.1");
  EXPECT_NO_THROW(nn::Llama(stream_, config, nn::Trained::No));
}

}  // namespace
}  // namespace athanor::train
