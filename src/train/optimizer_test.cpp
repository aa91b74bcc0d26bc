// Each optimizer's update on given gradients, its state through a checkpoint, and the average of the weights.
#include "train/optimizer.h"

#include "base/expect_error.h"
#include "base/test_folder.h"
#include "generate/test_model.h"
#include "kernels/muon_update/muon_update.h"
#include "test_device.h"
#include "train/checkpoint.h"
#include "train/step_test.h"

#include <gtest/gtest.h>

#include <cmath>

namespace athanor::train {
namespace {

TEST(Adamw, TakesTheStepOfAPlainLoopOnEveryTensor) {
  device::Stream& stream = testing::stream();
  OptimizerSettings settings;
  settings.max_grad_norm = 0;
  TestRun run(stream, settings);
  const auto before = run.weights();
  run.add(test_batch(0, 4), 4);
  const auto gradients = run.gradients();
  run.step.apply(1e-2);
  run.step.drain();
  const auto after = run.weights();
  for (size_t t = 0; t < after.size(); ++t) {
    const nn::Parameter& parameter = run.model.parameters().all()[t];
    const double decay = parameter.spec.shape.rank() == 2 ? 0.1 : 0;
    double largest = 0;
    for (size_t i = 0; i < after[t].size(); ++i) {
      const double g = gradients[t][i];
      // The first step: m and v corrected are g and g^2.
      const double want = before[t][i] * (1 - 1e-2 * decay) - 1e-2 * g / (std::abs(g) + 1e-8);
      largest = std::max(largest, std::abs(after[t][i] - want));
    }
    EXPECT_LT(largest, 1e-6) << parameter.spec.name;
  }
}

TEST(Muon, MovesHiddenMatricesByItsKernelAndTheRestAsAdamw) {
  device::Stream& stream = testing::stream();
  OptimizerSettings settings;
  settings.kind = OptimizerKind::Muon;
  TestRun adamw(stream, {});
  TestRun muon(stream, settings);
  muon.add(test_batch(0, 4), 4);
  const auto before = muon.weights();
  const auto gradients = muon.gradients();
  adamw.add(test_batch(0, 4), 4);
  adamw.step.apply(1e-3);
  muon.step.apply(1e-3);
  adamw.step.drain();
  muon.step.drain();
  const auto of_adamw = adamw.weights();
  const auto of_muon = muon.weights();
  int64_t hidden = 0;
  for (size_t t = 0; t < of_muon.size(); ++t) {
    const nn::Parameter& parameter = muon.model.parameters().all()[t];
    if (!parameter.is_hidden_matrix()) {
      EXPECT_EQ(of_muon[t], of_adamw[t]) << parameter.spec.name;
      continue;
    }
    ++hidden;
    const tensor::Tensor w = tensor::from_values(stream, before[t], parameter.spec.shape);
    const tensor::Tensor g = tensor::from_values(stream, gradients[t], parameter.spec.shape);
    const tensor::Tensor m = tensor::empty(stream, parameter.spec.shape, "momentum");
    stream.fill_zero(m.buffer());
    kernels::MuonUpdate args{w.buffer(),
                             g.buffer(),
                             m.buffer(),
                             muon.step.optimizer().stats(),
                             parameter.spec.shape[0],
                             parameter.spec.shape[1]};
    args.lr = 0.02F;
    args.weight_decay = 0.1F;
    kernels::muon_update(stream, args);
    const std::vector<float> want = tensor::to_values(stream, w);
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(of_muon[t][i], want[i], 1e-6) << parameter.spec.name;
  }
  EXPECT_EQ(hidden, 14);
}

TEST(Optimizers, AreKnownByHuggingFacesNames) {
  EXPECT_EQ(optimizer_kind("adamw_bnb_8bit"), OptimizerKind::Adamw8bit);
  EXPECT_EQ(name_of(OptimizerKind::Adamw8bit), "adamw_8bit");
  EXPECT_ERROR(optimizer_kind("adamw"), "optim is \"adamw\"; known are adamw_torch, adamw_8bit, sgd and muon");
}

struct Kind {
  OptimizerKind optimizer;
  nn::Precision precision;
  double ema_decay;
};

class Checkpoints : public ::testing::TestWithParam<Kind> {
 protected:
  OptimizerSettings settings() const {
    OptimizerSettings settings;
    settings.kind = GetParam().optimizer;
    return settings;
  }
  std::unique_ptr<TestRun> make() {
    return std::make_unique<TestRun>(stream_, settings(), GetParam().precision, GetParam().ema_decay);
  }
  void save(TestRun& run, int64_t step) {
    TrainerState state;
    state.step = state.applied_steps = step;
    state.train_loss = std::nan("");
    const ShownAverage shown(stream_, run.step.average());
    save_checkpoint(stream_, folder_, {run.model, run.step.optimizer(), run.step.average()}, tokenizer_, state);
  }

  device::Stream& stream_ = testing::stream();
  TestFolder root_;
  RunFolder folder_{root_.path()};
  data::Tokenizer tokenizer_ = generate::byte_tokenizer();
};

TEST_P(Checkpoints, GoOnWithTheVeryBits) {
  const std::unique_ptr<TestRun> whole = make();
  for (uint64_t number = 0; number < 3; ++number) whole->run(number);
  save(*whole, 3);
  const std::unique_ptr<TestRun> resumed = make();
  resumed->run(77);  // what is loaded replaces all of it
  const std::optional<WholeCheckpoint> found = find_whole_checkpoint(folder_);
  ASSERT_TRUE(found);
  EXPECT_TRUE(std::isnan(found->state.train_loss));
  load_checkpoint(stream_, found->entry.path, resumed->model, resumed->step.optimizer(), resumed->step.average());
  resumed->step.set_applied_steps(found->state.applied_steps);
  EXPECT_EQ(resumed->weights(), whole->weights());
  for (uint64_t number = 3; number < 6; ++number) {
    EXPECT_EQ(resumed->run(number).loss, whole->run(number).loss) << number;
  }
  EXPECT_EQ(resumed->weights(), whole->weights());
  const std::vector<StateTensor> want = whole->step.optimizer().state();
  const std::vector<StateTensor> got = resumed->step.optimizer().state();
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_EQ(words_of(stream_, got[i].buffer), words_of(stream_, want[i].buffer)) << want[i].name;
  if (whole->step.average() == nullptr) return;
  const ShownAverage one(stream_, whole->step.average());
  const ShownAverage other(stream_, resumed->step.average());
  EXPECT_EQ(resumed->weights(), whole->weights());
}

TEST_P(Checkpoints, OfAnotherOptimizerAreRefused) {
  const std::unique_ptr<TestRun> run = make();
  save(*run, 1);
  OptimizerSettings settings;
  settings.kind = GetParam().optimizer == OptimizerKind::Sgd ? OptimizerKind::Muon : OptimizerKind::Sgd;
  TestRun other(stream_, settings);
  EXPECT_ERROR(load_checkpoint(stream_, folder_.checkpoint(1), other.model, other.step.optimizer(), nullptr),
               "was written by another optimizer");
}

INSTANTIATE_TEST_SUITE_P(Of, Checkpoints,
                         ::testing::Values(Kind{OptimizerKind::Adamw, nn::Precision::F32, 0},
                                           Kind{OptimizerKind::Adamw, nn::Precision::Mixed, 0.9},
                                           Kind{OptimizerKind::Adamw8bit, nn::Precision::F32, 0},
                                           Kind{OptimizerKind::Adamw8bit, nn::Precision::Mixed, 0},
                                           Kind{OptimizerKind::Sgd, nn::Precision::F32, 0},
                                           Kind{OptimizerKind::Muon, nn::Precision::F32, 0.5},
                                           Kind{OptimizerKind::Muon, nn::Precision::Mixed, 0}),
                         [](const auto& info) {
                           return fmt::format("{}{}{}", name_of(info.param.optimizer),
                                              info.param.precision == nn::Precision::Mixed ? "_mixed" : "",
                                              info.param.ema_decay > 0 ? "_averaged" : "");
                         });

TEST(WeightAverage, IsWhatAPlainLoopGivesAndComesAndGoesWithoutATrace) {
  device::Stream& stream = testing::stream();
  TestRun run(stream, {}, nn::Precision::F32, 0.5);
  const std::vector<float> first = run.weights()[0];
  std::vector<double> want(first.begin(), first.end());
  for (int step = 1; step <= 12; ++step) {
    run.run(static_cast<uint64_t>(step));
    const double decay = std::min(0.5, (1.0 + step) / (10 + step));
    const std::vector<float> weights = run.weights()[0];
    for (size_t i = 0; i < want.size(); ++i) want[i] = decay * want[i] + (1 - decay) * weights[i];
  }
  const auto trained = run.weights();
  {
    const ShownAverage shown(stream, run.step.average());
    const std::vector<float> got = run.weights()[0];
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-6);
    EXPECT_NE(run.weights(), trained);
  }
  EXPECT_EQ(run.weights(), trained);
}

TEST(WeightAverage, OfACheckpointIsLeftOutByARunWithoutOne) {
  device::Stream& stream = testing::stream();
  const TestFolder root;
  const RunFolder folder(root.path());
  TestRun averaged(stream, {}, nn::Precision::F32, 0.9);
  for (uint64_t number = 0; number < 3; ++number) averaged.run(number);
  {
    const ShownAverage shown(stream, averaged.step.average());
    const data::Tokenizer tokenizer = generate::byte_tokenizer();
    save_checkpoint(stream, folder, {averaged.model, averaged.step.optimizer(), averaged.step.average()}, tokenizer,
                    {});
  }
  TestRun plain(stream, {});
  load_checkpoint(stream, folder.checkpoint(0), plain.model, plain.step.optimizer(), nullptr);
  EXPECT_EQ(plain.weights(), averaged.weights());
}

TEST(WholeCheckpoints, AreFoundBehindOnesThatAreTruncatedOrMissing) {
  device::Stream& stream = testing::stream();
  const TestFolder root;
  const RunFolder folder(root.path());
  EXPECT_FALSE(find_whole_checkpoint(folder));
  TestRun run(stream, {});
  const data::Tokenizer tokenizer = generate::byte_tokenizer();
  for (int64_t step : {1, 2, 3}) {
    TrainerState state;
    state.step = step;
    save_checkpoint(stream, folder, {run.model, run.step.optimizer(), nullptr}, tokenizer, state);
  }
  EXPECT_EQ(find_whole_checkpoint(folder)->entry.step, 3);
  EXPECT_EQ(find_whole_checkpoint(folder, 3)->entry.step, 2);
  const auto halve = [&](int64_t step, const char* name) {
    const std::filesystem::path path = folder.checkpoint(step) / name;
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  };
  halve(3, "optimizer.safetensors");
  EXPECT_EQ(find_whole_checkpoint(folder)->entry.step, 2);
  folder.set_latest(77);
  EXPECT_EQ(find_whole_checkpoint(folder)->entry.step, 2);
  halve(2, "trainer_state.json");
  EXPECT_EQ(find_whole_checkpoint(folder)->entry.step, 1);
  std::filesystem::remove(folder.checkpoint(1) / "model.safetensors");
  EXPECT_ERROR(find_whole_checkpoint(folder), "no checkpoint of this run is whole");
}

}  // namespace
}  // namespace athanor::train
