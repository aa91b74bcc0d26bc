// Text over the key/value cache against the whole forward pass computed anew for each token.
#include "generate/generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/expect_error.h"
#include "device/read_back.h"
#include "generate/test_model.h"
#include "generate/token_source.h"
#include "test_device.h"

namespace athanor::generate {
namespace {

std::vector<uint32_t> some_tokens(size_t count) {
  Random random(5, RandomStream::Test);
  std::vector<uint32_t> tokens(count);
  for (uint32_t& token : tokens) token = static_cast<uint32_t>(random.below(256));
  return tokens;
}

GenerateOptions greedy(int64_t max_tokens) {
  GenerateOptions options;
  options.max_tokens = max_tokens;
  options.sampler.temperature = 0;
  return options;
}

/// The most likely tokens, each found by a forward pass over everything before it.
std::vector<uint32_t> continue_without_cache(device::Stream& stream, const nn::Llama& model,
                                             std::vector<uint32_t> tokens, int count) {
  const int64_t vocabulary = model.config().vocab_size;
  std::vector<uint32_t> written;
  for (int i = 0; i < count; ++i) {
    const tensor::Context context{stream};
    const nn::Rows rows{1, static_cast<int64_t>(tokens.size()), 0};
    const tensor::Tensor hidden = model.hidden(context, tokens, rows, model.causal_attention(rows));
    const std::vector<float> logits = tensor::to_values(stream, model.logits(context, hidden));
    const auto last = logits.end() - vocabulary;
    const auto token = static_cast<uint32_t>(std::max_element(last, logits.end()) - last);
    tokens.push_back(token);
    written.push_back(token);
  }
  return written;
}

class GeneratorTest : public ::testing::Test {
 protected:
  device::Stream& stream_ = testing::stream();
  nn::Llama model_ = test_model(stream_);
  data::Tokenizer tokenizer_ = byte_tokenizer();
  std::vector<uint32_t> prompt_ = some_tokens(7);
};

TEST_F(GeneratorTest, GreedyTextIsThatOfTheFullForwardAtEachToken) {
  Generator generator(stream_, model_, tokenizer_);
  const GenerateResult result = generator.generate(prompt_, greedy(40));
  EXPECT_EQ(result.tokens, continue_without_cache(stream_, model_, prompt_, 40));
  EXPECT_EQ(result.stop, StopReason::MaxTokens);
  EXPECT_EQ(result.prompt_tokens, 7);
  EXPECT_EQ(result.decoded_tokens, 39);
}

TEST_F(GeneratorTest, APromptOfSeveralChunksGivesTheSameText) {
  const nn::Llama model = test_model(stream_, test_config(1100));
  const std::vector<uint32_t> prompt = some_tokens(1030);
  Generator generator(stream_, model, tokenizer_);
  EXPECT_EQ(generator.generate(prompt, greedy(3)).tokens, continue_without_cache(stream_, model, prompt, 3));
}

TEST_F(GeneratorTest, ASecondTextDoesNotSeeTheFirst) {
  Generator generator(stream_, model_, tokenizer_);
  const std::vector<uint32_t> first = generator.generate(prompt_, greedy(20)).tokens;
  generator.generate(some_tokens(30), greedy(20));
  EXPECT_EQ(generator.generate(prompt_, greedy(20)).tokens, first);
}

TEST_F(GeneratorTest, TheSameSeedWritesTheSameText) {
  Generator generator(stream_, model_, tokenizer_);
  GenerateOptions options;
  options.max_tokens = 30;
  options.sampler.temperature = 2;
  options.sampler.top_k = 0;
  options.sampler.min_p = 0;
  options.sampler.seed = 1;
  const std::vector<uint32_t> first = generator.generate(prompt_, options).tokens;
  EXPECT_EQ(generator.generate(prompt_, options).tokens, first);
  options.sampler.seed = 2;
  EXPECT_NE(generator.generate(prompt_, options).tokens, first);
}

TEST_F(GeneratorTest, PiecesJoinedAreTheTextAndNeverCutACharacter) {
  Generator generator(stream_, model_, tokenizer_);
  GenerateOptions options;
  options.max_tokens = 57;
  options.sampler.temperature = 3;
  options.sampler.top_k = 0;
  options.sampler.top_p = 1;
  options.sampler.min_p = 0;
  std::string joined;
  const GenerateResult result = generator.generate(prompt_, options, [&](std::string_view piece) { joined += piece; });
  EXPECT_EQ(joined, result.text);
  data::StreamDecoder decoder(tokenizer_);
  std::string want;
  for (const uint32_t token : result.tokens) want += decoder.push(token);
  want += decoder.finish();
  EXPECT_EQ(result.text, want);
}

TEST_F(GeneratorTest, EndsAtAnEndTokenWithoutWritingIt) {
  Generator generator(stream_, model_, tokenizer_);
  const std::vector<uint32_t> whole = generator.generate(prompt_, greedy(20)).tokens;
  const uint32_t end = whole[6];
  GenerateOptions options = greedy(20);
  options.end_tokens = {end};
  const GenerateResult result = generator.generate(prompt_, options);
  EXPECT_EQ(result.stop, StopReason::EndOfText);
  const std::vector<uint32_t> want(whole.begin(), std::find(whole.begin(), whole.end(), end));
  EXPECT_EQ(result.tokens, want);
}

TEST_F(GeneratorTest, EndsWhereTheContextEndsAndSaysSo) {
  Generator generator(stream_, model_, tokenizer_, 16);
  const GenerateResult result = generator.generate(prompt_, greedy(-1));
  EXPECT_EQ(result.stop, StopReason::ContextFull);
  EXPECT_EQ(result.tokens.size(), 10U);  // the last one needs no place, as nothing follows it
  EXPECT_EQ(name_of(result.stop), "context_full");
}

TEST_F(GeneratorTest, StopsWhenToldTo) {
  Generator generator(stream_, model_, tokenizer_);
  GenerateOptions options = greedy(20);
  int asked = 0;
  options.should_stop = [&] { return ++asked > 4; };  // once for the prompt, then for each token
  GenerateResult result = generator.generate(prompt_, options);
  EXPECT_EQ(result.stop, StopReason::Stopped);
  EXPECT_EQ(result.tokens.size(), 3U);
  result = generator.generate(prompt_, options);
  EXPECT_TRUE(result.tokens.empty());
}

TEST_F(GeneratorTest, WritesNothingWhenNothingIsAskedFor) {
  Generator generator(stream_, model_, tokenizer_);
  EXPECT_TRUE(generator.generate(prompt_, greedy(0)).tokens.empty());
}

TEST_F(GeneratorTest, IdsBeyondTheTokenizerAreNeverChosen) {
  nn::LlamaConfig config = test_config();
  config.vocab_size = 300;
  const nn::Llama model = test_model(stream_, config);
  Generator generator(stream_, model, tokenizer_);
  for (const uint32_t token : generator.generate(prompt_, greedy(50)).tokens) EXPECT_LT(token, 257U);
}

TEST_F(GeneratorTest, RefusesAPromptLongerThanTheContextWithBothNumbers) {
  Generator generator(stream_, model_, tokenizer_, 5);
  EXPECT_ERROR(generator.generate(prompt_, greedy(1)), "the prompt has 7 tokens but the context has 5");
}

TEST_F(GeneratorTest, RefusesAnEmptyPrompt) {
  Generator generator(stream_, model_, tokenizer_);
  EXPECT_ERROR(generator.generate({}, greedy(1)), "the prompt has no tokens");
}

TEST_F(GeneratorTest, RefusesAnIdOutsideTheVocabulary) {
  Generator generator(stream_, model_, tokenizer_);
  EXPECT_THROW(generator.generate(std::vector<uint32_t>{1, 257}, greedy(1)), Error);
}

TEST_F(GeneratorTest, RefusesAContextLongerThanTheModels) {
  EXPECT_ERROR(Generator(stream_, model_, tokenizer_, 65), "a context of 65 tokens is longer than the model's 64");
  EXPECT_ERROR(Generator(stream_, model_, tokenizer_, -1), "a context of -1 tokens");
}

TEST_F(GeneratorTest, RefusesATokenizerWithMoreIdsThanTheModel) {
  nn::LlamaConfig config = test_config();
  config.vocab_size = 256;
  const nn::Llama model = test_model(stream_, config);
  EXPECT_ERROR(Generator(stream_, model, tokenizer_), "the tokenizer has 257 ids but the model has 256");
}

TEST(KvCache, CountsItsPositions) {
  KvCache cache(testing::stream(), test_config(), 12);
  EXPECT_EQ(cache.capacity(), 12);
  EXPECT_EQ(cache.size_bytes(), 2 * 2 * 12 * 2 * 10 * 4);  // layers, k and v, positions, heads, width, bytes
  cache.advance(5);
  cache.advance(7);
  EXPECT_EQ(cache.length(), 12);
  EXPECT_ERROR(cache.advance(1), "1 more positions do not fit behind 12 of 12");
  cache.truncate(3);
  EXPECT_EQ(cache.length(), 3);
  EXPECT_ERROR(cache.truncate(4), "cannot be cut to 4 positions");
}

TEST_F(GeneratorTest, ARepeatPenaltyIsHeededAndTheSameSeedStillWritesTheSameText) {
  Generator generator(stream_, model_, tokenizer_);
  GenerateOptions options = greedy(30);
  const std::vector<uint32_t> plain = generator.generate(prompt_, options).tokens;
  options.sampler.repeat_penalty = 50;
  options.sampler.repeat_last_n = -1;
  const std::vector<uint32_t> first = generator.generate(prompt_, options).tokens;
  EXPECT_EQ(generator.generate(prompt_, options).tokens, first);
  const std::set<uint32_t> different(first.begin(), first.end());
  EXPECT_GT(different.size(), std::set<uint32_t>(plain.begin(), plain.end()).size());
}

TEST_F(GeneratorTest, TokensDrawnOnTheDeviceAreThoseOfTheHostsSampler) {
  SamplerOptions options;
  options.seed = 3;
  options.temperature = 1.5F;
  Decoder on_device(stream_, weights_where_they_lie(model_));
  Decoder on_host(stream_, weights_where_they_lie(model_));
  on_device.feed(prompt_, Decoder::Logits::OfTheLast);
  on_host.feed(prompt_, Decoder::Logits::OfTheLast);
  DeviceTokens device_tokens(stream_, on_device, options, 257);
  HostTokens host_tokens(stream_, on_host, options, 257);
  std::vector<uint32_t> text = prompt_;
  for (int i = 0; i < 30; ++i) {
    const auto position = static_cast<int64_t>(text.size());
    device_tokens.ask(position);
    host_tokens.ask(position);
    const uint32_t token = device_tokens.take(text);
    ASSERT_EQ(token, host_tokens.take(text)) << i;
    text.push_back(token);
  }
}

TEST_F(GeneratorTest, LogitsThatAreNoNumbersAreAnError) {
  const std::vector<float> broken(36, std::numeric_limits<float>::quiet_NaN());
  stream_.upload(model_.parameters().at("model.norm.weight").buffer(), std::as_bytes(std::span(broken)));
  Generator generator(stream_, model_, tokenizer_);
  EXPECT_ERROR(generator.generate(prompt_, greedy(3)), "the logit of token 0 is");
}

TEST_F(GeneratorTest, ASteadyTokenTakesNoMemoryAndBringsBackFourBytes) {
  Decoder decoder(stream_, weights_where_they_lie(model_));
  DeviceTokens tokens(stream_, decoder, greedy(0).sampler, 257);
  decoder.feed(prompt_, Decoder::Logits::OfTheLast);
  const auto next = [&] {
    tokens.ask(decoder.cache().length() + 1);
    tokens.take();
  };
  for (int i = 0; i < 3; ++i) next();
  const int64_t allocations = stream_.device().memory().allocations;
  const int64_t read_back = device::read_back_bytes(stream_);
  for (int i = 0; i < 10; ++i) next();
  EXPECT_EQ(stream_.device().memory().allocations, allocations);
  EXPECT_EQ(device::read_back_bytes(stream_) - read_back, 40);
}

}  // namespace
}  // namespace athanor::generate
