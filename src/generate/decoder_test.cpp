// The decoder's logits against nn::Llama's: in f32 the same, in rounded formats those of a model whose weights are the rounded ones.
#include "generate/decoder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/expect_error.h"
#include "generate/test_model.h"
#include "kernels/fp32_to_fp16/half.h"
#include "test_device.h"

namespace athanor::generate {
namespace {

/// Rows of whole blocks of 32 values; key and value rows of 32 values, which join at their own multiples of 64.
nn::LlamaConfig config_of_blocks(bool is_tied) {
  nn::LlamaConfig config = test_config(32);
  config.vocab_size = 70;
  config.hidden_size = 64;
  config.intermediate_size = 96;
  config.head_dim = 16;
  config.tie_word_embeddings = is_tied;
  return config;
}

const std::vector<uint32_t> kTokens = {5, 69, 0, 17, 17, 42, 3};

std::vector<float> logits_of(const nn::Llama& model) {
  device::Stream& stream = testing::stream();
  const tensor::Context context{stream};
  const nn::Rows rows{1, static_cast<int64_t>(kTokens.size()), 0};
  const std::vector<float> all = tensor::to_values(
      stream, model.logits(context, model.hidden(context, kTokens, rows, model.causal_attention(rows))));
  return {all.end() - model.config().vocab_size, all.end()};
}

/// The first five tokens as a prompt, then one by one.
std::vector<float> logits_of(DecoderWeights weights) {
  device::Stream& stream = testing::stream();
  Decoder decoder(stream, std::move(weights));
  const std::span<const uint32_t> tokens(kTokens);
  decoder.feed(tokens.first(5), Decoder::Logits::No);
  decoder.feed(tokens.subspan(5, 1), Decoder::Logits::No);
  decoder.feed(tokens.subspan(6, 1), Decoder::Logits::OfTheLast);
  return tensor::to_values(stream, decoder.logits());
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
  return largest;
}

double largest_of(const std::vector<float>& values) {
  return largest_difference(values, std::vector<float>(values.size()));
}

std::vector<float> rounded_to_f16(std::vector<float> values) {
  for (float& value : values) {
    value = std::bit_cast<float>(kernels::float_bits_of_half(kernels::half_bits(std::bit_cast<uint32_t>(value))));
  }
  return values;
}

/// As ggml defines Q8_0, block by block.
std::vector<float> rounded_to_q8_0(std::vector<float> values) {
  for (size_t first = 0; first < values.size(); first += 32) {
    float largest = 0;
    for (size_t i = first; i < first + 32; ++i) largest = std::max(largest, std::abs(values[i]));
    const float scale = largest / 127;
    const float stored = rounded_to_f16({scale}).front();
    for (size_t i = first; i < first + 32; ++i) values[i] = std::round(values[i] / scale) * stored;
  }
  return values;
}

/// The model with its matrices rounded; the table of the embedding stays as it is.
nn::Llama rounded_model(const nn::Llama& model, std::vector<float> (*round)(std::vector<float>)) {
  device::Stream& stream = testing::stream();
  nn::LlamaConfig config = model.config();
  config.tie_word_embeddings = false;
  nn::Llama rounded(stream, config, nn::Trained::No);
  const nn::ReadWeight read = nn::weights_of(stream, model);
  for (const nn::Parameter& parameter : rounded.parameters().all()) {
    nn::ParameterSpec spec = parameter.spec;
    const bool is_matrix = parameter.is_decayed() && spec.name != "model.embed_tokens.weight";
    if (spec.name == "lm_head.weight" && model.config().tie_word_embeddings) spec.name = "model.embed_tokens.weight";
    std::vector<float> values = read(spec);
    if (is_matrix) values = round(std::move(values));
    if (spec.layout == nn::FileLayout::Transposed) values = nn::transposed(values, spec.shape[1], spec.shape[0]);
    stream.upload(parameter.values.buffer(), std::as_bytes(std::span(values)));
  }
  return rounded;
}

DecoderWeights in_format(const nn::Llama& model, WeightFormat format) {
  device::Stream& stream = testing::stream();
  return upload_weights(stream, model.config(), nn::weights_of(stream, model), format);
}

class DecoderTest : public ::testing::TestWithParam<bool> {
 protected:
  nn::Llama model_ = test_model(testing::stream(), config_of_blocks(GetParam()));
};

TEST_P(DecoderTest, LogitsOfF32AreTheModels) {
  const std::vector<float> want = logits_of(model_);
  const double allowed = 1e-5 * largest_of(want);
  EXPECT_LE(largest_difference(logits_of(weights_where_they_lie(model_)), want), allowed);
  EXPECT_LE(largest_difference(logits_of(in_format(model_, WeightFormat::F32)), want), allowed);
}

TEST_P(DecoderTest, LogitsOfF16AreThoseOfTheRoundedWeights) {
  const std::vector<float> got = logits_of(in_format(model_, WeightFormat::F16));
  const std::vector<float> want = logits_of(rounded_model(model_, rounded_to_f16));
  EXPECT_LE(largest_difference(got, want), 1e-5 * largest_of(want));
  const std::vector<float> unrounded = logits_of(model_);
  const double lost = largest_difference(got, unrounded) / largest_of(unrounded);
  EXPECT_LE(lost, 2e-3);  // 2^-11 a weight, over two blocks
  EXPECT_GT(lost, 0);
}

TEST_P(DecoderTest, LogitsOfQ8_0AreThoseOfTheRoundedWeights) {
  const std::vector<float> got = logits_of(in_format(model_, WeightFormat::Q8_0));
  const std::vector<float> want = logits_of(rounded_model(model_, rounded_to_q8_0));
  EXPECT_LE(largest_difference(got, want), 1e-5 * largest_of(want));
  const std::vector<float> unrounded = logits_of(model_);
  const double lost = largest_difference(got, unrounded) / largest_of(unrounded);
  EXPECT_LE(lost, 3e-2);  // 1/254 of a block's largest weight, over two blocks
  EXPECT_GT(lost, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Heads, DecoderTest, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "Tied" : "Own"; });

TEST(Decoder, KeepsMatricesWithoutWholeBlocksInF16) {
  const nn::Llama model = test_model(testing::stream());  // rows of 36, 40 and 50 values
  EXPECT_EQ(logits_of(in_format(model, WeightFormat::Q8_0)), logits_of(in_format(model, WeightFormat::F16)));
}

TEST(Decoder, CountsTheBytesThatATokenReads) {
  const nn::LlamaConfig config = config_of_blocks(true);
  const nn::Llama model = test_model(testing::stream(), config);
  const int64_t matrices = 70 * 64 + 2 * (64 * 64 + 2 * 64 * 32 + 64 * 64 + 3 * 64 * 96);
  const int64_t rest = 4 * (5 * 64 + 64);  // norms, and a row of the table
  EXPECT_EQ(weights_where_they_lie(model).read_bytes_per_token(), 4 * matrices + rest);
  EXPECT_EQ(in_format(model, WeightFormat::F32).read_bytes_per_token(), 4 * matrices + rest);
  EXPECT_EQ(in_format(model, WeightFormat::F16).read_bytes_per_token(), 2 * matrices + rest);
  EXPECT_EQ(in_format(model, WeightFormat::Q8_0).read_bytes_per_token(), matrices / 32 * 34 + rest);
}

TEST(Decoder, RefusesWhatDoesNotFitTheCache) {
  device::Stream& stream = testing::stream();
  const nn::Llama model = test_model(stream);
  Decoder decoder(stream, weights_where_they_lie(model), 4);
  EXPECT_ERROR(decoder.feed(std::vector<uint32_t>{1, 2, 3, 4, 5}, Decoder::Logits::No),
               "5 new tokens do not fit behind 0 in a context of 4");
  EXPECT_ERROR(decoder.feed(std::vector<uint32_t>{1, 257}, Decoder::Logits::No), "257");
  EXPECT_ERROR(decoder.feed({}, Decoder::Logits::No), "no tokens");
}

TEST(Weight, FormatsHaveTheNamesThatTheOptionTakes) {
  for (const WeightFormat format : {WeightFormat::F32, WeightFormat::F16, WeightFormat::Q8_0}) {
    EXPECT_EQ(weight_format_of(name_of(format)), format);
  }
  EXPECT_EQ(weight_format_of("q4"), std::nullopt);
}

TEST(Weight, BlocksOfZerosStayZeros) {
  device::Stream& stream = testing::stream();
  const Weight weight = upload_weight(stream, std::vector<float>(64), 1, 64, WeightFormat::Q8_0);
  std::vector<std::byte> bytes(68);
  stream.download(weight.values, bytes);
  for (const std::byte byte : bytes) EXPECT_EQ(byte, std::byte{0});
}

}  // namespace
}  // namespace athanor::generate
