// Packed documents through the model: each, behind the end of text before it, has the loss and the gradients that it has alone.
#include <gtest/gtest.h>

#include <cmath>

#include "base/expect_error.h"
#include "base/random.h"
#include "data/loader.h"
#include "nn/llama.h"
#include "test_device.h"
#include "train/train_step.h"

namespace athanor::train {
namespace {

// Positions run on in a packed row, so angles are rounded another way; beyond that only the order of sums differs.
constexpr double kAllowed = 2e-5;          // nats, of losses near 4
constexpr double kAllowedGradient = 2e-4;  // largest difference over the tensor's largest value

nn::LlamaConfig small_config() {
  nn::LlamaConfig config;
  config.vocab_size = 61;
  config.hidden_size = 48;
  config.intermediate_size = 64;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  config.max_position_embeddings = 64;
  config.complete("test");
  return config;
}

/// Random tokens in documents shorter and longer than a row, each closed by token 0.
data::TokenData random_documents() {
  Random random(3, RandomStream::Test);
  std::vector<uint32_t> tokens;
  std::vector<uint64_t> offsets{0};
  for (const int64_t length : {5, 1, 30, 17, 2, 90, 9, 40, 3, 64, 21, 8}) {
    for (int64_t i = 1; i < length; ++i) tokens.push_back(1 + static_cast<uint32_t>(random.below(60)));
    tokens.push_back(0);
    offsets.push_back(tokens.size());
  }
  return data::TokenData(tokens, offsets, std::nullopt);
}

class PackedRows : public ::testing::Test {
 protected:
  PackedRows() : stream_(testing::stream()), model_(stream_, small_config(), nn::Trained::Yes) {
    model_.parameters().initialize(stream_, 5);
    // the usual first weights make every attention nearly even; larger ones tell keys apart
    for (const nn::Parameter& parameter : model_.parameters().all()) {
      if (parameter.spec.name.find("proj") == std::string::npos) continue;
      std::vector<float> values = tensor::to_values(stream_, parameter.values.buffer());
      for (float& value : values) value *= 8;
      stream_.upload(parameter.values.buffer(), std::as_bytes(std::span(values)));
    }
  }

  data::Batch batch(data::Packing packing) const {
    return data::Loader(random_documents(), {.length = 48, .seed = 2, .packing = packing, .end_of_text = 0})
        .batch(0, 4);
  }

  /// -log softmax at each target, 0 where there is none.
  std::vector<double> losses(std::span<const uint32_t> ids, std::span<const int32_t> targets, const nn::Rows& rows) {
    const tensor::Context context{stream_, nullptr};
    const tensor::Tensor first_key = nn::upload_first_keys(stream_, rows);
    const tensor::Tensor hidden = model_.hidden(context, ids, rows, model_.causal_attention(rows, first_key));
    const std::vector<float> logits = tensor::to_values(stream_, model_.logits(context, hidden));
    std::vector<double> result(targets.size(), 0);
    for (size_t i = 0; i < targets.size(); ++i) {
      if (targets[i] == data::kNoTarget) continue;
      const std::span<const float> row = std::span(logits).subspan(i * 61, 61);
      double sum = 0;
      for (const float value : row) sum += std::exp(static_cast<double>(value));
      result[i] = std::log(sum) - row[static_cast<size_t>(targets[i])];
    }
    return result;
  }

  /// Calls with the place and length of every stretch of one document in the batch.
  template <typename Visit>
  static void for_each_document(const data::Batch& packed, const Visit& visit) {
    const auto all = packed.tokens.size();
    for (size_t begin = 0; begin < all;) {
      size_t end = begin + 1;
      while (end < all && packed.first_keys[end] == packed.first_keys[begin] &&
             end % static_cast<size_t>(packed.length) != 0) {
        ++end;
      }
      visit(begin, end - begin);
      begin = end;
    }
  }

  void accumulate(std::span<const uint32_t> ids, std::span<const int32_t> targets, const nn::Rows& rows, float scale) {
    tensor::Tape tape;
    model_.loss({stream_, &tape}, ids, targets, rows, scale, loss_sum_);
    tape.run_backward(stream_);
  }

  std::vector<std::vector<float>> gradients() {
    std::vector<std::vector<float>> all;
    for (const nn::Parameter& parameter : model_.parameters().all()) {
      all.push_back(tensor::to_values(stream_, parameter.values.gradient()));
    }
    return all;
  }

  void begin_step() {
    model_.parameters().clear_gradients();
    stream_.fill_zero(loss_sum_);
  }

  device::Stream& stream_;
  nn::Llama model_;
  device::Buffer loss_sum_ = stream_.device().allocate(4, "loss");
};

TEST_F(PackedRows, HaveTheLossOfTheSameDocumentsAloneTokenByToken) {
  const data::Batch packed = batch(data::Packing::Documents);
  const std::vector<double> together =
      losses(packed.tokens, packed.targets, {packed.rows, packed.length, 0, packed.first_keys});
  int64_t documents = 0;
  for_each_document(packed, [&](size_t begin, size_t count) {
    ++documents;
    const auto ids = std::span(packed.tokens).subspan(begin, count);
    const auto targets = std::span(packed.targets).subspan(begin, count);
    const std::vector<double> alone = losses(ids, targets, {1, static_cast<int64_t>(count)});
    for (size_t i = 0; i < count; ++i) EXPECT_NEAR(together[begin + i], alone[i], kAllowed) << begin + i;
  });
  EXPECT_GE(documents, 10);
}

TEST_F(PackedRows, HaveTheGradientsOfTheSameDocumentsAlone) {
  const data::Batch packed = batch(data::Packing::Documents);
  const auto scale = static_cast<float>(1.0 / static_cast<double>(packed.num_targets()));
  begin_step();
  accumulate(packed.tokens, packed.targets, {packed.rows, packed.length, 0, packed.first_keys}, scale);
  const std::vector<std::vector<float>> together = gradients();
  const float loss_together = tensor::to_values(stream_, loss_sum_).front();
  begin_step();
  for_each_document(packed, [&](size_t begin, size_t count) {
    accumulate(std::span(packed.tokens).subspan(begin, count), std::span(packed.targets).subspan(begin, count),
               {1, static_cast<int64_t>(count)}, scale);
  });
  const std::vector<std::vector<float>> alone = gradients();
  EXPECT_NEAR(tensor::to_values(stream_, loss_sum_).front(), loss_together, 1e-5 * std::abs(loss_together));
  for (size_t tensor = 0; tensor < alone.size(); ++tensor) {
    float largest = 0;
    float difference = 0;
    for (size_t i = 0; i < alone[tensor].size(); ++i) {
      largest = std::max(largest, std::abs(alone[tensor][i]));
      difference = std::max(difference, std::abs(alone[tensor][i] - together[tensor][i]));
    }
    EXPECT_LT(difference, kAllowedGradient * largest) << model_.parameters().all()[tensor].spec.name;
  }
}

TEST_F(PackedRows, DifferFromNaiveOnes) {
  const data::Batch packed = batch(data::Packing::Documents);
  const data::Batch naive = batch(data::Packing::Naive);
  ASSERT_EQ(packed.tokens, naive.tokens);
  const std::vector<double> apart =
      losses(packed.tokens, packed.targets, {packed.rows, packed.length, 0, packed.first_keys});
  const std::vector<double> across = losses(naive.tokens, packed.targets, {naive.rows, naive.length});
  double largest = 0;
  for (size_t i = 0; i < apart.size(); ++i) {
    largest = std::max(largest, std::abs(apart[i] - across[i]));
    if (packed.first_keys[i] != 0) continue;
    EXPECT_NEAR(apart[i], across[i], kAllowed);  // nothing stands before it
  }
  EXPECT_GT(largest, 0.01);
}

TEST_F(PackedRows, AreRefusedWhereADocumentWouldStartBehindItsPosition) {
  const std::vector<uint32_t> keys{0, 2, 2};
  EXPECT_ERROR(nn::upload_first_keys(stream_, {1, 3, 0, keys}), "position 1 would start at 2");
  EXPECT_ERROR(nn::upload_first_keys(stream_, {1, 4, 0, keys}), "3 first keys do not fit");
  EXPECT_ERROR(model_.causal_attention({1, 3, 0, keys}), "pass their first keys");
}

}  // namespace
}  // namespace athanor::train
