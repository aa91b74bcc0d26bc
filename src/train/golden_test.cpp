// A small grouped-query model against PyTorch's numbers (tests/golden/make_llama_golden.py), what gradient accumulation and recomputation
// may not change, and its training against a script in f32 (tests/golden/make_training_golden.py).
#include "base/safetensors.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "nn/llama.h"
#include "test_device.h"
#include "train/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>

namespace athanor::train {
namespace {

constexpr double kAllowed = 1e-4;  // largest difference over the tensor's largest value

template <typename T>
std::vector<T> values_of(const TensorEntry& entry) {
  std::vector<T> values(entry.bytes.size() / sizeof(T));
  std::memcpy(values.data(), entry.bytes.data(), entry.bytes.size());
  return values;
}

double relative_difference(std::span<const float> got, std::span<const float> want) {
  double largest = 0;
  double difference = 0;
  EXPECT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(want[i])));
    difference = std::max(difference, std::abs(static_cast<double>(got[i]) - want[i]));
  }
  return difference / largest;
}

class Golden : public ::testing::Test {
 protected:
  Golden()
      : file_(std::filesystem::path(ATHANOR_SOURCE_DIR) / "tests/golden/llama_gqa.safetensors"),
        config_(nn::LlamaConfig::from_json(file_.metadata().at("config"), "golden config")),
        stream_(testing::stream()),
        model_(stream_, config_, nn::Trained::Yes) {
    for (const nn::Parameter& parameter : model_.parameters().all()) {
      std::vector<float> values = file_values("weight." + parameter.spec.name, parameter);
      stream_.upload(parameter.values.buffer(), std::as_bytes(std::span(values)));
    }
    const std::vector<int32_t> ids = values_of<int32_t>(file_.at("ids"));
    ids_.assign(ids.begin(), ids.end());
    targets_ = values_of<int32_t>(file_.at("targets"));
    batch_ = file_.at("ids").shape[1];
    length_ = file_.at("ids").shape[2];
    loss_sum_ = stream_.device().allocate(4, "loss");
  }

  /// A tensor of the file as it lies on the device.
  std::vector<float> file_values(const std::string& name, const nn::Parameter& parameter) {
    return file_values(file_, name, parameter);
  }
  static std::vector<float> file_values(const SafetensorsFile& file, const std::string& name,
                                        const nn::Parameter& parameter) {
    const TensorEntry& entry = file.at(name);
    std::vector<float> values = values_of<float>(entry);
    if (parameter.spec.layout == nn::FileLayout::Transposed)
      values = nn::transposed(values, entry.shape[0], entry.shape[1]);
    return values;
  }

  /// Forward and backward of rows [first, first + count) of batch `index` as one micro-batch.
  void accumulate(int64_t index, int64_t first, int64_t count, float scale,
                  nn::Recompute recompute = nn::Recompute::No) {
    const size_t begin = static_cast<size_t>((index * batch_ + first) * length_);
    const size_t size = static_cast<size_t>(count * length_);
    tensor::Tape tape;
    model_.loss({stream_, &tape}, std::span(ids_).subspan(begin, size), std::span(targets_).subspan(begin, size),
                {count, length_}, scale, loss_sum_, recompute);
    tape.run_backward(stream_);
  }

  int64_t num_targets(int64_t index) const {
    const size_t begin = static_cast<size_t>(index * batch_ * length_);
    int64_t count = 0;
    for (size_t i = begin; i < begin + static_cast<size_t>(batch_ * length_); ++i) {
      count += targets_[i] != kernels::kIgnoreTarget ? 1 : 0;
    }
    return count;
  }

  float scale_of(int64_t index) const { return static_cast<float>(1.0 / static_cast<double>(num_targets(index))); }

  void begin_step() {
    model_.parameters().clear_gradients();
    stream_.fill_zero(loss_sum_);
  }

  void expect_golden_gradients() {
    for (const nn::Parameter& parameter : model_.parameters().all()) {
      const std::vector<float> got = tensor::to_values(stream_, parameter.values.gradient());
      EXPECT_LT(relative_difference(got, file_values("gradient." + parameter.spec.name, parameter)), kAllowed)
          << parameter.spec.name;
    }
  }

  SafetensorsFile file_;
  nn::LlamaConfig config_;
  device::Stream& stream_;
  nn::Llama model_;
  std::vector<uint32_t> ids_;
  std::vector<int32_t> targets_;
  int64_t batch_ = 0;
  int64_t length_ = 0;
  device::Buffer loss_sum_;
};

TEST_F(Golden, LogitsAgreeWithPyTorch) {
  const nn::Rows rows{batch_, length_};
  const tensor::Context context{stream_, nullptr};
  const std::span<const uint32_t> ids = std::span(ids_).first(static_cast<size_t>(batch_ * length_));
  const tensor::Tensor hidden = model_.hidden(context, ids, rows, model_.causal_attention(rows));
  const std::vector<float> got = tensor::to_values(stream_, model_.logits(context, hidden));
  EXPECT_LT(relative_difference(got, values_of<float>(file_.at("logits"))), kAllowed);
}

TEST_F(Golden, AllGradientsAgreeWithPyTorch) {
  begin_step();
  accumulate(0, 0, batch_, scale_of(0));
  expect_golden_gradients();
}

TEST_F(Golden, GradientsOfAccumulatedMicroBatchesAgreeWithPyTorch) {
  begin_step();
  for (int64_t row = 0; row < batch_; ++row) accumulate(0, row, 1, scale_of(0));
  expect_golden_gradients();
}

TEST_F(Golden, RecomputedBlocksGiveTheVeryGradients) {
  begin_step();
  accumulate(0, 0, batch_, scale_of(0));
  std::vector<std::vector<float>> kept;
  for (const nn::Parameter& parameter : model_.parameters().all()) {
    kept.push_back(tensor::to_values(stream_, parameter.values.gradient()));
  }
  begin_step();
  accumulate(0, 0, batch_, scale_of(0), nn::Recompute::Blocks);
  for (size_t i = 0; i < kept.size(); ++i) {
    const nn::Parameter& parameter = model_.parameters().all()[i];
    EXPECT_EQ(tensor::to_values(stream_, parameter.values.gradient()), kept[i]) << parameter.spec.name;
  }
}

TEST_F(Golden, TenLossesAgreeWithPyTorch) {
  const std::vector<float> want = values_of<float>(file_.at("losses"));
  const auto number = [&](const char* key) { return std::stod(file_.metadata().at(key)); };
  OptimizerSettings settings;
  settings.weight_decay = number("weight_decay");
  settings.max_grad_norm = number("max_grad_norm");
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(stream_, model_.parameters(), settings);
  ASSERT_EQ(want.size(), 10U);
  for (int64_t step = 0; step < 10; ++step) {
    const int64_t index = step % 3;
    begin_step();
    accumulate(index, 0, batch_, scale_of(index));
    optimizer->measure(stream_);
    optimizer->update(stream_, number("learning_rate"), step + 1);
    const double loss = tensor::to_values(stream_, loss_sum_).front() / static_cast<double>(num_targets(index));
    EXPECT_NEAR(loss, want[static_cast<size_t>(step)], kAllowed * want[static_cast<size_t>(step)]) << "step " << step;
  }
}

class GoldenTraining : public Golden, public ::testing::WithParamInterface<OptimizerKind> {
 protected:
  double number(const char* key) const { return std::stod(trained_.metadata().at(key)); }
  std::string prefix() const { return GetParam() == OptimizerKind::Muon ? "muon" : "adamw"; }
  std::unique_ptr<Optimizer> optimizer(double max_grad_norm) {
    OptimizerSettings settings;
    settings.kind = GetParam();
    settings.weight_decay = number("weight_decay");
    settings.muon_rate_ratio = number("muon_rate_ratio");
    settings.max_grad_norm = max_grad_norm;
    return make_optimizer(stream_, model_.parameters(), settings);
  }

  SafetensorsFile trained_{std::filesystem::path(ATHANOR_SOURCE_DIR) / "tests/golden/training.safetensors"};
};

TEST_P(GoldenTraining, OneUpdateOnGivenGradientsAgreesWithTheScript) {
  model_.parameters().clear_gradients();
  model_.parameters().fill_missing_gradients(stream_);
  for (const nn::Parameter& parameter : model_.parameters().all()) {
    const std::vector<float> given = file_values("gradient." + parameter.spec.name, parameter);
    stream_.upload(parameter.values.gradient(), std::as_bytes(std::span(given)));
  }
  const std::unique_ptr<Optimizer> rule = optimizer(0);
  rule->measure(stream_);
  rule->update(stream_, number("learning_rate"), 1);
  for (const nn::Parameter& parameter : model_.parameters().all()) {
    const std::vector<float> got = tensor::to_values(stream_, parameter.values);
    const std::vector<float> want = file_values(trained_, prefix() + "." + parameter.spec.name, parameter);
    EXPECT_LT(relative_difference(got, want), 1e-6) << parameter.spec.name;
  }
}

TEST_P(GoldenTraining, AHundredLossesAgreeWithTheScript) {
  constexpr int64_t kSteps = 100;
  const TensorEntry& entry = trained_.at("tokens");  // (steps, rows, length + 1)
  const std::vector<int32_t> tokens = values_of<int32_t>(entry);
  const int64_t rows = entry.shape[1];
  const int64_t length = entry.shape[2] - 1;
  const std::vector<float> want = values_of<float>(trained_.at("losses." + prefix()));
  ASSERT_EQ(want.size(), static_cast<size_t>(kSteps));
  const std::unique_ptr<Optimizer> rule = optimizer(number("max_grad_norm"));
  double largest = 0;
  for (int64_t step = 0; step < kSteps; ++step) {
    std::vector<uint32_t> ids;
    std::vector<int32_t> targets;
    for (int64_t row = step * rows; row < (step + 1) * rows; ++row) {
      const auto begin = tokens.begin() + row * (length + 1);
      ids.insert(ids.end(), begin, begin + length);
      targets.insert(targets.end(), begin + 1, begin + length + 1);
    }
    begin_step();
    tensor::Tape tape;
    const float scale = static_cast<float>(1.0 / static_cast<double>(rows * length));
    model_.loss({stream_, &tape}, ids, targets, {rows, length}, scale, loss_sum_);
    tape.run_backward(stream_);
    rule->measure(stream_);
    rule->update(stream_, number("learning_rate"), step + 1);
    const double loss = tensor::to_values(stream_, loss_sum_).front() / static_cast<double>(rows * length);
    const double golden = want[static_cast<size_t>(step)];
    largest = std::max(largest, std::abs(loss - golden) / golden);
  }
  EXPECT_LT(largest, 1e-3);
  RecordProperty("largest_difference", std::to_string(largest));
}

INSTANTIATE_TEST_SUITE_P(Of, GoldenTraining, ::testing::Values(OptimizerKind::Adamw, OptimizerKind::Muon),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_F(Golden, OneBatchIsOverfitted) {
  model_.parameters().initialize(stream_, 1);
  OptimizerSettings settings;
  settings.weight_decay = 0;
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(stream_, model_.parameters(), settings);
  double loss = 0;
  for (int64_t step = 0; step < 300; ++step) {
    begin_step();
    accumulate(1, 0, 1, static_cast<float>(1.0 / static_cast<double>(length_)));
    optimizer->measure(stream_);
    optimizer->update(stream_, 1e-2, step + 1);
    if (step == 299) loss = tensor::to_values(stream_, loss_sum_).front() / static_cast<double>(length_);
  }
  EXPECT_LT(loss, 0.05);
}

}  // namespace
}  // namespace athanor::train
