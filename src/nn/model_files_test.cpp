// Model folders: written, read again, and refused when they are not whole or of another model.
#include "nn/model_files.h"

#include "base/atomic_file.h"
#include "base/expect_error.h"
#include "base/safetensors.h"
#include "base/test_folder.h"
#include "base/test_garbled.h"
#include "test_device.h"

#include <gtest/gtest.h>

namespace athanor::nn {
namespace {

LlamaConfig small_config(bool is_tied) {
  LlamaConfig config{37, 12, 20, 2, 2, 1, 6, 16};
  config.tie_word_embeddings = is_tied;
  config.complete("test");
  return config;
}

std::vector<float> all_weights(const Llama& model) {
  std::vector<float> weights;
  for (const Parameter& parameter : model.parameters().all()) {
    const std::vector<float> values = tensor::to_values(testing::stream(), parameter.values);
    weights.insert(weights.end(), values.begin(), values.end());
  }
  return weights;
}

class ModelFiles : public ::testing::TestWithParam<bool> {
 protected:
  ModelFiles() : model_(testing::stream(), small_config(GetParam()), Trained::No) {
    model_.parameters().initialize(testing::stream(), 5);
    save_model(testing::stream(), model_, folder_.path());
  }
  TestFolder folder_;
  Llama model_;
};

TEST_P(ModelFiles, GiveTheVeryWeightsBack) {
  const Llama loaded = load_model(testing::stream(), folder_.path(), Trained::No);
  EXPECT_EQ(all_weights(loaded), all_weights(model_));
}

TEST_P(ModelFiles, HoldProjectionsAsHuggingFaceDoes) {
  const SafetensorsFile file(folder_.path() / "model.safetensors");
  EXPECT_EQ(file.at("model.layers.0.mlp.up_proj.weight").shape, (std::vector<int64_t>{20, 12}));
  EXPECT_EQ(file.at("model.layers.0.self_attn.k_proj.weight").shape, (std::vector<int64_t>{6, 12}));
  EXPECT_EQ(file.find("lm_head.weight") == nullptr, GetParam());
}

TEST_P(ModelFiles, OfAnotherModelAreRefused) {
  LlamaConfig other = small_config(GetParam());
  other.intermediate_size = 24;
  Llama model(testing::stream(), other, Trained::No);
  EXPECT_ERROR(load_weights(testing::stream(), model, folder_.path()), "config.json makes it");
  other = small_config(GetParam());
  other.num_hidden_layers = 3;
  Llama deeper(testing::stream(), other, Trained::No);
  EXPECT_ERROR(load_weights(testing::stream(), deeper, folder_.path()), "is missing");
}

TEST_P(ModelFiles, OfAConfigurationThatLiesAreRefusedBeforeMemoryIsTaken) {
  LlamaConfig other = small_config(GetParam());
  other.vocab_size = 1 << 24;
  write_file(folder_.path() / "config.json", other.to_json());
  const int64_t before = testing::stream().device().memory().peak_bytes;
  EXPECT_ERROR(load_model(testing::stream(), folder_.path(), Trained::No), "config.json makes it (16777216, 12)");
  EXPECT_EQ(testing::stream().device().memory().peak_bytes, before);
}

TEST_P(ModelFiles, WithAConfigurationGarbledAnywhereAreReadOrRefusedInWords) {
  const std::string good = TestFolder::read(folder_.path() / "config.json");
  int64_t refused = 0;
  for_each_garbled(good, [&](const Garbled& garbled) {
    folder_.put("config.json", garbled.content);
    try {
      load_model(testing::stream(), folder_.path(), Trained::No);
    } catch (const Error& error) {
      ++refused;
      EXPECT_NE(std::string(error.what()).find(folder_.path().string()), std::string::npos)
          << garbled.change << ": " << error.what();
    }
  });
  EXPECT_GT(refused, 100);
}

TEST_P(ModelFiles, CutShortAreRefused) {
  const std::filesystem::path path = folder_.path() / "model.safetensors";
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 4);
  EXPECT_ERROR(load_model(testing::stream(), folder_.path(), Trained::No), "model.safetensors");
}

TEST_P(ModelFiles, NamedByAnIndexMustLieBesideIt) {
  std::filesystem::remove(folder_.path() / "model.safetensors");
  write_file(folder_.path() / "model.safetensors.index.json", R"({"weight_map": {"a": "../secret.safetensors"}})");
  EXPECT_ERROR(load_model(testing::stream(), folder_.path(), Trained::No), "is not a plain file name");
}

INSTANTIATE_TEST_SUITE_P(TiedAndNot, ModelFiles, ::testing::Bool());

TEST(Parameters, OfOneSeedAreTheSameAndOfAnotherAreNot) {
  Llama a(testing::stream(), small_config(true), Trained::No);
  Llama b(testing::stream(), small_config(true), Trained::No);
  a.parameters().initialize(testing::stream(), 1);
  b.parameters().initialize(testing::stream(), 1);
  EXPECT_EQ(all_weights(a), all_weights(b));
  b.parameters().initialize(testing::stream(), 2);
  EXPECT_NE(all_weights(a), all_weights(b));
}

}  // namespace
}  // namespace athanor::nn
