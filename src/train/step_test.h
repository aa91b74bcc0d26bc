// For tests of this layer: a model of a few thousand weights, its steps on batches that follow from a number, and what it holds.
#pragma once

#include "base/random.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "train/train_step.h"

#include <cstring>
#include <vector>

namespace athanor::train {

/// Grouped queries and a tied head.
inline nn::LlamaConfig step_test_config() {
  nn::LlamaConfig config;
  config.vocab_size = 96;
  config.hidden_size = 64;
  config.intermediate_size = 96;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  config.head_dim = 16;
  config.max_position_embeddings = 64;
  config.tie_word_embeddings = true;
  config.complete("step_test_config");
  return config;
}

struct TestBatch {
  std::vector<uint32_t> ids;
  std::vector<int32_t> targets;
  nn::Rows rows;
};

/// Rows in which each token follows from the one before and a little chance: something to learn.
inline TestBatch test_batch(uint64_t number, int64_t rows, int64_t length = 64) {
  TestBatch batch{{}, {}, {rows, length}};
  Random random(5, RandomStream::Test, number);
  for (int64_t row = 0; row < rows; ++row) {
    auto token = static_cast<uint32_t>(random.below(96));
    for (int64_t i = 0; i < length; ++i) {
      const uint32_t next = (token * 5 + 7 + static_cast<uint32_t>(random.below(4))) % 96;
      batch.ids.push_back(token);
      batch.targets.push_back(static_cast<int32_t>(next));
      token = next;
    }
  }
  return batch;
}

/// Of each row all but the first targets[row] targets are left out.
inline void keep_targets(TestBatch& batch, const std::vector<int64_t>& targets) {
  for (int64_t row = 0; row < batch.rows.batch; ++row) {
    for (int64_t i = targets[static_cast<size_t>(row)]; i < batch.rows.length; ++i)
      batch.targets[static_cast<size_t>(row * batch.rows.length + i)] = kernels::kIgnoreTarget;
  }
}

/// A model with its steps.
struct TestRun {
  TestRun(device::Stream& stream, const OptimizerSettings& settings, nn::Precision precision = nn::Precision::F32,
          double ema_decay = 0, const nn::LlamaConfig& config = step_test_config(),
          nn::Recompute recompute = nn::Recompute::No)
      : stream(stream),
        model(stream, config, nn::Trained::Yes, precision),
        step(stream, model, settings, recompute, {}, ema_decay) {
    model.parameters().initialize(stream, 1);
    if (WeightAverage* average = step.average()) average->restart(stream);
  }

  /// Forward and backward of a batch, in micro-batches of `rows_each` rows, as step `number`.
  void add(const TestBatch& batch, int64_t rows_each, int64_t number = 0) {
    step.begin(count_targets(batch.targets), 1, number);
    for (int64_t row = 0; row < batch.rows.batch; row += rows_each) {
      const auto begin = static_cast<size_t>(row * batch.rows.length);
      const auto size = static_cast<size_t>(rows_each * batch.rows.length);
      step.add(std::span(batch.ids).subspan(begin, size), std::span(batch.targets).subspan(begin, size),
               {rows_each, batch.rows.length});
    }
  }

  /// One whole step on batch `number`.
  StepReport run(uint64_t number, double learning_rate = 3e-3, double largest_norm = 0,
                 TrainStep::MeasureNorms norms = TrainStep::MeasureNorms::No) {
    add(test_batch(number, 4, 16), 4, static_cast<int64_t>(number));  // few tokens: software Vulkan is slow
    step.apply(learning_rate, largest_norm, norms);
    return *step.drain();
  }

  std::vector<std::vector<float>> weights() {
    std::vector<std::vector<float>> all;
    for (const nn::Parameter& parameter : model.parameters().all())
      all.push_back(tensor::to_values(stream, parameter.values));
    return all;
  }

  std::vector<std::vector<float>> gradients() {
    std::vector<std::vector<float>> all;
    for (const nn::Parameter& parameter : model.parameters().all())
      all.push_back(tensor::to_values(stream, parameter.values.gradient()));
    return all;
  }

  device::Stream& stream;
  nn::Llama model;
  TrainStep step;
};

/// The words of a buffer.
inline std::vector<uint32_t> words_of(device::Stream& stream, const device::Buffer& buffer) {
  std::vector<uint32_t> words(static_cast<size_t>(buffer.size_bytes() / 4));
  stream.download(buffer, std::as_writable_bytes(std::span(words)));
  return words;
}

}  // namespace athanor::train
