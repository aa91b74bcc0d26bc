// Prefill and decoding of one sequence.
#include "generate/generator.h"

#include <algorithm>

#include "base/error.h"
#include "base/host.h"

namespace athanor::generate {

namespace {

// Rows of a prompt that go through the model at once: enough to fill a GPU's matrix products, few enough that their activations
// stay small beside the weights.
constexpr int64_t kPromptChunk = 512;

double rate(int64_t count, double seconds) { return seconds > 0 ? static_cast<double>(count) / seconds : 0; }

}  // namespace

std::string_view name_of(StopReason reason) {
  switch (reason) {
    case StopReason::EndOfText:
      return "end_of_text";
    case StopReason::MaxTokens:
      return "max_tokens";
    case StopReason::ContextFull:
      return "context_full";
    case StopReason::Stopped:
      break;
  }
  return "stopped";
}

double GenerateResult::prompt_tokens_per_second() const { return rate(prompt_tokens, prompt_seconds); }
double GenerateResult::decode_tokens_per_second() const { return rate(decoded_tokens, decode_seconds); }

Generator::Generator(device::Stream& stream, const nn::Llama& model, data::Tokenizer tokenizer, int64_t context_length)
    : stream_(stream),
      model_(model),
      tokenizer_(std::move(tokenizer)),
      cache_(stream, model.config(), context_length == 0 ? model.config().max_position_embeddings : context_length),
      logits_(static_cast<size_t>(model.config().vocab_size)) {
  check(tokenizer_.vocab_size() <= model.config().vocab_size,
        "generate: the tokenizer has {} ids but the model has {}; they belong to two models", tokenizer_.vocab_size(),
        model.config().vocab_size);
}

void Generator::feed(std::span<const uint32_t> ids, bool wants_logits) {
  const tensor::Context context{stream_};
  const int64_t rows = static_cast<int64_t>(ids.size());
  const tensor::Tensor hidden = model_.hidden(context, ids, {1, rows, cache_.length()}, cache_.attention());
  cache_.advance(rows);
  if (!wants_logits) {
    stream_.submit();
    return;
  }
  const int64_t columns = hidden.shape().last();
  tensor::Tensor last = hidden;
  if (rows > 1) {
    last = tensor::empty(stream_, Shape{1, columns}, "last hidden state");
    stream_.copy(hidden.buffer().slice((rows - 1) * columns * 4, columns * 4), last.buffer());
  }
  const tensor::Tensor logits = model_.logits(context, last);
  stream_.download(logits.buffer(), std::as_writable_bytes(std::span(logits_)));
}

/// False when it was told to stop.
bool Generator::feed_prompt(std::span<const uint32_t> prompt, const GenerateOptions& options) {
  while (!prompt.empty()) {
    if (options.should_stop && options.should_stop()) return false;
    const size_t count = std::min<size_t>(prompt.size(), kPromptChunk);
    feed(prompt.first(count), count == prompt.size());
    prompt = prompt.subspan(count);
  }
  return true;
}

GenerateResult Generator::generate(std::span<const uint32_t> prompt, const GenerateOptions& options,
                                   const TextFunction& on_text) {
  const int64_t prompt_length = static_cast<int64_t>(prompt.size());
  check(prompt_length > 0, "generate: the prompt has no tokens; pass at least one");
  check(prompt_length <= context_length(),
        "generate: the prompt has {} tokens but the context has {}; pass a shorter prompt or a longer context (the "
        "model's is {})",
        prompt_length, context_length(), model_.config().max_position_embeddings);
  check(options.max_tokens >= -1, "generate: {} tokens were asked for; pass a number, or -1 for no bound",
        options.max_tokens);

  Sampler sampler(options.sampler);
  data::StreamDecoder decoder(tokenizer_);
  GenerateResult result;
  result.prompt_tokens = prompt_length;
  const auto emit = [&](std::string_view piece) {
    result.text += piece;
    if (on_text) on_text(piece);
  };

  cache_.truncate(0);
  const double start = now_seconds();
  if (!feed_prompt(prompt, options)) {
    result.stop = StopReason::Stopped;
    return result;
  }
  const double prompt_end = now_seconds();
  result.prompt_seconds = prompt_end - start;

  // Ids that pad the model's vocabulary beyond the tokenizer's have no text and cannot be chosen.
  const std::span<const float> logits(logits_.data(), static_cast<size_t>(tokenizer_.vocab_size()));
  std::vector<uint32_t> all(prompt.begin(), prompt.end());
  while (true) {
    if (options.max_tokens >= 0 && static_cast<int64_t>(result.tokens.size()) >= options.max_tokens) break;
    if (options.should_stop && options.should_stop()) {
      result.stop = StopReason::Stopped;
      break;
    }
    if (!result.tokens.empty()) {
      if (cache_.length() == cache_.capacity()) {
        result.stop = StopReason::ContextFull;
        break;
      }
      feed(std::span(all).last(1), true);
      result.decoded_tokens += 1;
    }
    const uint32_t token = sampler.sample(logits, all, static_cast<int64_t>(all.size()));
    if (std::find(options.end_tokens.begin(), options.end_tokens.end(), token) != options.end_tokens.end()) {
      result.stop = StopReason::EndOfText;
      break;
    }
    all.push_back(token);
    result.tokens.push_back(token);
    emit(decoder.push(token));
  }
  result.decode_seconds = now_seconds() - prompt_end;
  if (const std::string rest = decoder.finish(); !rest.empty()) emit(rest);
  return result;
}

}  // namespace athanor::generate
