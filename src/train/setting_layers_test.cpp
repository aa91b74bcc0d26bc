// Which layer of settings holds; presets and the dial; the batch in tokens, as said in several places.
#include "train/setting_layers.h"

#include "base/expect_error.h"
#include "train/presets.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace athanor::train {
namespace {

TrainSettings laid(const std::vector<SettingLayer>& layers) {
  TrainSettings settings;
  apply_layers(settings, layers);
  return settings;
}

SettingLayer layer(std::initializer_list<std::pair<const char*, const char*>> pairs) {
  SettingLayer layer;
  for (const auto& [key, value] : pairs) layer.push_back({key, {value}, "test"});
  return layer;
}

TEST(SettingLayers, AHigherOneHoldsAndAPresetStandsBelowAll) {
  const SettingLayer file = layer({{"learning_rate", "1"}, {"seed", "2"}, {"warmup_steps", "3"}});
  const SettingLayer line = layer({{"seed", "4"}, {"preset", "tiny"}});
  const TrainSettings settings = laid({file, layer({{"seed", "3"}, {"warmup_steps", "5"}}), line});
  EXPECT_EQ(settings.learning_rate, 1) << "the preset stands above the file";
  EXPECT_EQ(settings.warmup_steps, 5);
  EXPECT_EQ(settings.seed, 4U);
  EXPECT_EQ(settings.model_config.hidden_size, 128);
  EXPECT_EQ(settings.preset, "tiny");
  EXPECT_EQ(overridden_keys(settings), (std::vector<std::string>{"learning_rate", "warmup_steps"}));
}

TEST(SettingLayers, OfTheEnvironmentNameTheirVariable) {
  setenv("ATHANOR_MAX_STEPS", "7", 1);
  setenv("ATHANOR_MODEL_CONFIG_HIDDEN_SIZE", "96", 1);
  setenv("ATHANOR_SEED", "x", 1);
  const SettingLayer all = environment_settings();
  unsetenv("ATHANOR_SEED");
  const SettingLayer good = environment_settings();
  unsetenv("ATHANOR_MAX_STEPS");
  unsetenv("ATHANOR_MODEL_CONFIG_HIDDEN_SIZE");
  const TrainSettings settings = laid({layer({{"max_steps", "5"}}), good});
  EXPECT_EQ(settings.max_steps, 7);
  EXPECT_EQ(settings.model_config.hidden_size, 96);
  EXPECT_ERROR(laid({all}), "$ATHANOR_SEED: seed: \"x\" is no value for it");
}

TEST(SettingLayers, KeyValueHeadsFollowTheQueryHeadsUnlessTheyAreFewer) {
  const SettingLayer heads = layer({{"model_config.num_attention_heads", "8"}});
  EXPECT_EQ(laid({layer({{"preset", "tiny"}}), heads}).model_config.num_key_value_heads, 8);
  EXPECT_EQ(laid({heads}).model_config.num_key_value_heads, 8);
  const SettingLayer grouped =
      layer({{"model_config.num_attention_heads", "4"}, {"model_config.num_key_value_heads", "2"}});
  EXPECT_EQ(laid({grouped, heads}).model_config.num_key_value_heads, 2);
}

TEST(Presets, HaveTheSizesOfTheirNames) {
  const auto millions = [](const char* name, int64_t vocabulary) {
    TrainSettings settings = laid({layer({{"preset", name}})});
    settings.model_config.vocab_size = settings.vocab_size;
    EXPECT_EQ(settings.vocab_size, vocabulary);
    settings.model_config.complete("test");
    return static_cast<double>(settings.model_config.num_weights()) * 1e-6;
  };
  EXPECT_NEAR(millions("tiny", 2048), 1.31, 0.01);
  EXPECT_NEAR(millions("small", 4096), 5.2, 0.1);
  EXPECT_NEAR(millions("llama-15m", 32000), 15.2, 0.1);
  EXPECT_NEAR(millions("llama-138m", 32000), 137.8, 0.1);
  EXPECT_ERROR(laid({layer({{"preset", "large"}})}), "there is no preset \"large\"; known are tiny, small, llama-15m");
}

TEST(Depth, GivesWidthHeadsRateAndBatch) {
  const TrainSettings six = laid({layer({{"depth", "6"}})});
  EXPECT_EQ(six.model_config.num_hidden_layers, 6);
  EXPECT_EQ(six.model_config.hidden_size, 384);
  EXPECT_EQ(six.model_config.num_attention_heads, 6);
  EXPECT_EQ(six.model_config.intermediate_size, 1024);
  EXPECT_EQ(six.model_config.max_position_embeddings, 512);
  EXPECT_EQ(six.vocab_size, 0);
  // 10.6 M weights of blocks, 1.3e16 operations: 0.3118 C^-0.125 and 0.2920 C^0.3271.
  EXPECT_NEAR(six.learning_rate, 3.0e-3, 1e-4);
  EXPECT_EQ(six.batch_tokens, 32768);
  double rate = 1;
  int64_t batch = 0;
  for (const char* depth : {"1", "2", "4", "8", "16", "32", "64"}) {
    const TrainSettings settings = laid({layer({{"depth", depth}})});
    EXPECT_LT(settings.learning_rate, rate) << depth;
    EXPECT_GT(settings.batch_tokens, batch) << depth;
    rate = settings.learning_rate;
    batch = settings.batch_tokens;
  }
  EXPECT_ERROR(laid({layer({{"depth", "65"}})}), "depth is 65; it must lie between 1 and 64");
  EXPECT_ERROR(laid({layer({{"depth", "6"}}), layer({{"preset", "tiny"}})}), "give one of them");
  EXPECT_EQ(laid({layer({{"depth", "6"}}), layer({{"preset", "tiny"}, {"depth", "0"}})}).model_config.hidden_size, 128);
}

/// tokens, rows of a micro-batch, micro-batches
using Batch = std::array<int64_t, 3>;
Batch batch_of(const std::vector<SettingLayer>& layers) {
  const TrainSettings settings = laid(layers);
  return {settings.batch_tokens, settings.per_device_train_batch_size, settings.gradient_accumulation_steps};
}

TEST(BatchInLayers, WhatAHigherOneSaysOpensWhatWouldContradictIt) {
  const SettingLayer whole = layer({{"batch_tokens", "2048"},
                                    {"per_device_train_batch_size", "4"},
                                    {"gradient_accumulation_steps", "2"},
                                    {"model_config.max_position_embeddings", "256"}});
  EXPECT_EQ(batch_of({}), (Batch{0, 8, 1}));
  EXPECT_EQ(batch_of({whole}), (Batch{2048, 4, 2})) << "a config.yaml";
  EXPECT_EQ(batch_of({layer({{"batch_tokens", "4096"}})}), (Batch{4096, 0, 0}));
  EXPECT_EQ(batch_of({whole, layer({{"batch_tokens", "4096"}})}), (Batch{4096, 0, 0}));
  EXPECT_EQ(batch_of({whole, layer({{"per_device_train_batch_size", "2"}})}), (Batch{2048, 2, 0}));
  EXPECT_EQ(batch_of({whole, layer({{"gradient_accumulation_steps", "4"}})}), (Batch{2048, 0, 4}));
  EXPECT_EQ(batch_of({whole, layer({{"max_length", "128"}})}), (Batch{2048, 0, 0}));
  EXPECT_EQ(batch_of({whole, layer({{"batch_tokens", "0"}})}), (Batch{0, 8, 1}));
  EXPECT_EQ(batch_of({whole, layer({{"seed", "2"}})}), (Batch{2048, 4, 2}));
  const SettingLayer pair = layer({{"per_device_train_batch_size", "3"}, {"gradient_accumulation_steps", "5"}});
  EXPECT_EQ(batch_of({whole, pair}), (Batch{0, 3, 5}));
  EXPECT_EQ(batch_of({pair, layer({{"per_device_train_batch_size", "2"}})}), (Batch{0, 2, 5}));
  EXPECT_EQ(batch_of({layer({{"preset", "tiny"}}), pair}), (Batch{0, 3, 5}));
}

}  // namespace
}  // namespace athanor::train
