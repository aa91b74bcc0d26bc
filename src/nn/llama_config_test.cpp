// config.json: what is read, what is refused by name.
#include "nn/llama_config.h"

#include "base/expect_error.h"

#include <gtest/gtest.h>

namespace athanor::nn {
namespace {

const char* const kConfig = R"({"model_type": "llama", "vocab_size": 512, "hidden_size": 64, "intermediate_size": 160,
  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128, "rms_norm_eps": 1e-5,
  "tie_word_embeddings": true, "eos_token_id": [3, 4]})";

std::string with(const std::string& key_and_value) {
  std::string text = kConfig;
  return text.insert(1, key_and_value + ",");
}

TEST(LlamaConfig, ReadsAConfigJson) {
  const LlamaConfig config = LlamaConfig::from_json(kConfig, "config.json");
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.num_key_value_heads, 2);
  EXPECT_EQ(config.eos_token_id, 3);
  EXPECT_EQ(config.bos_token_id, -1);
  EXPECT_EQ(config.num_weights(), 512 * 64 + 64 + 2 * (64 * 16 * 12 + 3 * 64 * 160 + 2 * 64));
}

TEST(LlamaConfig, WritesWhatItReads) {
  const LlamaConfig config = LlamaConfig::from_json(kConfig, "config.json");
  EXPECT_EQ(LlamaConfig::from_json(config.to_json(), "written").to_json(), config.to_json());
}

TEST(LlamaConfig, KeepsDropoutAndWritesItOnlyWhereThereIsSome) {
  const LlamaConfig config =
      LlamaConfig::from_json(with(R"("attention_dropout": 0.0, "resid_pdrop": 0.1, "embd_pdrop": 0.2)"), "c");
  EXPECT_EQ(config.resid_pdrop, 0.1);
  EXPECT_EQ(config.embd_pdrop, 0.2);
  EXPECT_EQ(LlamaConfig::from_json(config.to_json(), "written").to_json(), config.to_json());
  EXPECT_EQ(LlamaConfig::from_json(kConfig, "c").to_json().find("drop"), std::string::npos);
  EXPECT_NO_THROW(config.check_can_train("c"));
  EXPECT_ERROR(LlamaConfig::from_json(with(R"("attention_dropout": 0.1)"), "c").check_can_train("c"),
               "attention_dropout is 0.1");
  EXPECT_ERROR(LlamaConfig::from_json(with(R"("resid_pdrop": 1)"), "c"), "resid_pdrop is 1");
  EXPECT_ERROR(LlamaConfig::from_json(with(R"("embd_pdrop": -0.1)"), "c"), "embd_pdrop is -0.1");
  EXPECT_ERROR(LlamaConfig::from_json(with(R"("embd_pdrop": "x")"), "c"), "embd_pdrop is \"x\"");
}

TEST(LlamaConfig, RefusesWhatTheModelCannotDo) {
  EXPECT_ERROR(LlamaConfig::from_json(with(R"("attention_bias": true)"), "c"), "attention_bias is true");
  EXPECT_ERROR(LlamaConfig::from_json(with(R"("rope_scaling": {"type": "yarn"})"), "c"), "rope_scaling");
  EXPECT_ERROR(LlamaConfig::from_json(with(R"("hidden_act": "gelu")"), "c"), "hidden_act");
  EXPECT_ERROR(LlamaConfig::from_json(R"({"model_type": "gpt2"})", "c"), "model_type is \"gpt2\"");
}

TEST(LlamaConfig, RefusesHostileSizes) {
  EXPECT_ERROR(LlamaConfig::from_json("[1]", "c"), "not a JSON object");
  EXPECT_ERROR(LlamaConfig::from_json("{\"vocab_size\": ", "c"), "not a JSON object");
  EXPECT_ERROR(LlamaConfig::from_json(R"({"vocab_size": -1})", "c"), "vocab_size is -1");
  EXPECT_ERROR(LlamaConfig::from_json(R"({"vocab_size": 1e300})", "c"), "vocab_size");
  EXPECT_ERROR(LlamaConfig::from_json(R"({"vocab_size": 99999999999})", "c"), "vocab_size");
  EXPECT_ERROR(LlamaConfig::from_json(R"({"vocab_size": 10})", "c"), "hidden_size is 0");
  LlamaConfig config{512, INT64_MAX, 128, 2, 4, 4, 0, 128};
  EXPECT_ERROR(config.complete("c"), "hidden_size is 9223372036854775807; it must lie between 1 and 16777216");
}

TEST(LlamaConfig, RefusesHeadsThatDoNotDivide) {
  LlamaConfig config{512, 64, 128, 2, 4, 3, 0, 128};
  EXPECT_ERROR(config.complete("c"), "num_attention_heads 4 is no multiple of num_key_value_heads 3");
  config = {512, 64, 128, 2, 5, 5, 0, 128};
  EXPECT_ERROR(config.complete("c"), "num_attention_heads 5 does not divide hidden_size 64");
  config = {512, 64, 128, 2, 4, 4, 15, 128};
  EXPECT_ERROR(config.complete("c"), "head_dim is 15");
}

}  // namespace
}  // namespace athanor::nn
