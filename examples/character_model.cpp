// A small Llama learns a poem letter by letter, goes on from two words of it, and is saved as a Hugging Face folder for next_token.
// Run: character_model [DEVICE [FOLDER]].
#include <athanor/base/atomic_file.h>
#include <athanor/data/tokenizer.h>
#include <athanor/device/device.h>
#include <athanor/nn/llama.h>
#include <athanor/nn/model_files.h>
#include <athanor/train/adamw.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <random>

using namespace athanor;

namespace {

constexpr int64_t kBatch = 8;
constexpr int64_t kLength = 64;
constexpr int kSteps = 300;

const std::string kPoem =
    "Shall I compare thee to a summer's day?\nThou art more lovely and more temperate:\n"
    "Rough winds do shake the darling buds of May,\nAnd summer's lease hath all too short a date;\n"
    "Sometime too hot the eye of heaven shines,\nAnd often is his gold complexion dimm'd;\n";

/// One token a byte, and one that ends a text.
data::Tokenizer byte_tokenizer() {
  data::TokenizerParts parts;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    parts.tokens.emplace_back(1, static_cast<char>(byte));
    parts.byte_tokens[byte] = byte;
  }
  parts.tokens.emplace_back(data::kEndOfText);
  parts.added.push_back({256, std::string(data::kEndOfText), true});
  return data::Tokenizer(std::move(parts));
}

nn::LlamaConfig small_model(int64_t vocabulary) {
  nn::LlamaConfig config;
  config.vocab_size = vocabulary;
  config.hidden_size = 64;
  config.intermediate_size = 192;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 4;
  config.max_position_embeddings = 2 * kLength;
  config.tie_word_embeddings = true;
  config.complete("character_model");
  return config;
}

/// One optimizer step on windows at random places of the text; gives the mean loss of a letter.
float train_step(device::Stream& stream, nn::Llama& model, train::Adamw& optimizer, std::span<const uint32_t> text,
                 std::mt19937& generator, int step) {
  std::vector<uint32_t> ids;
  std::vector<int32_t> targets;  // of each letter the next one
  for (int64_t row = 0; row < kBatch; ++row) {
    const size_t begin = generator() % (text.size() - kLength);
    for (size_t i = begin; i < begin + kLength; ++i) {
      ids.push_back(text[i]);
      targets.push_back(static_cast<int32_t>(text[i + 1]));
    }
  }
  const float scale = 1.0F / static_cast<float>(targets.size());
  const device::Buffer loss_sum = stream.device().allocate(4, "loss");
  stream.fill_zero(loss_sum);
  model.parameters().clear_gradients();
  tensor::Tape tape;
  model.loss({stream, &tape}, ids, targets, {kBatch, kLength}, scale, loss_sum);
  tape.run_backward(stream);
  optimizer.measure(stream);
  optimizer.update(stream, 5e-3, step);
  return tensor::to_values(stream, loss_sum).front() * scale;
}

/// The likeliest letters after `text`, one after the other.
std::vector<uint32_t> go_on(device::Stream& stream, const nn::Llama& model, std::vector<uint32_t> text, int letters) {
  const tensor::Context context{stream, nullptr};
  for (int i = 0; i < letters; ++i) {
    const nn::Rows rows{1, static_cast<int64_t>(text.size())};
    const tensor::Tensor hidden = model.hidden(context, text, rows, model.causal_attention(rows));
    const std::vector<float> logits = tensor::to_values(stream, model.logits(context, hidden));
    const auto last = logits.end() - model.config().vocab_size;
    text.push_back(static_cast<uint32_t>(std::max_element(last, logits.end()) - last));
  }
  return text;
}

int run(const char* device_name, const char* folder) {
  device::DeviceOptions options;
  options.name = device_name;
  const std::unique_ptr<device::Device> device = device::open_device(options);
  device::Stream& stream = device->stream();

  const data::Tokenizer tokenizer = byte_tokenizer();
  const std::vector<uint32_t> text = tokenizer.encode(kPoem);
  nn::Llama model(stream, small_model(tokenizer.vocab_size()), nn::Trained::Yes);
  model.parameters().initialize(stream, 1);
  train::Adamw optimizer(stream, model.parameters(), {});
  std::mt19937 generator(1);
  float first = 0;
  float loss = 0;
  for (int step = 1; step <= kSteps; ++step) {
    loss = train_step(stream, model, optimizer, text, generator, step);
    if (step == 1) first = loss;
    if (step == 1 || step % 50 == 0) std::printf("step %3d  loss %.4f\n", step, static_cast<double>(loss));
  }
  std::printf("%s\n", tokenizer.decode(go_on(stream, model, tokenizer.encode("Rough winds "), 60)).c_str());
  if (folder != nullptr) {
    std::filesystem::create_directories(folder);
    nn::save_model(stream, model, folder);
    write_file(std::filesystem::path(folder) / "tokenizer.json", tokenizer.to_json());
  }
  return loss < first / 4 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "auto", argc > 2 ? argv[2] : nullptr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
