// Prefill and decoding of one sequence.
#include "generate/generator.h"

#include <algorithm>

#include "base/error.h"
#include "base/host.h"
#include "generate/token_source.h"

namespace athanor::generate {

namespace {

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

Generator::Generator(device::Stream& stream, DecoderWeights weights, data::Tokenizer tokenizer, int64_t context_length)
    : stream_(stream), tokenizer_(std::move(tokenizer)), decoder_(stream, std::move(weights), context_length) {
  check(tokenizer_.vocab_size() <= decoder_.config().vocab_size,
        "generate: the tokenizer has {} ids but the model has {}; they belong to two models", tokenizer_.vocab_size(),
        decoder_.config().vocab_size);
}

Generator::Generator(device::Stream& stream, const nn::Llama& model, data::Tokenizer tokenizer, int64_t context_length)
    : Generator(stream, weights_where_they_lie(model), std::move(tokenizer), context_length) {}

/// False when it was told to stop.
bool Generator::feed_prompt(std::span<const uint32_t> prompt, const GenerateOptions& options) {
  while (!prompt.empty()) {
    if (options.should_stop && options.should_stop()) return false;
    const size_t count = std::min<size_t>(prompt.size(), Decoder::kPromptChunk);
    decoder_.feed(prompt.first(count), count == prompt.size() ? Decoder::Logits::OfTheLast : Decoder::Logits::No);
    stream_.submit();
    prompt = prompt.subspan(count);
  }
  check_logits_of(stream_, decoder_, tokenizer_.vocab_size());
  return true;
}

void Generator::check_request(std::span<const uint32_t> prompt, const GenerateOptions& options) const {
  const int64_t prompt_length = static_cast<int64_t>(prompt.size());
  check(prompt_length > 0, "generate: the prompt has no tokens; pass at least one");
  check(prompt_length <= context_length(),
        "generate: the prompt has {} tokens but the context has {}; pass a shorter prompt or a longer context (the "
        "model's is {})",
        prompt_length, context_length(), decoder_.config().max_position_embeddings);
  check(options.max_tokens >= -1, "generate: {} tokens were asked for; pass a number, or -1 for no bound",
        options.max_tokens);
  check_options(options.sampler);
}

void Generator::write(std::vector<uint32_t> text, const GenerateOptions& options, GenerateResult& result,
                      const TextFunction& on_text) {
  // Ids that pad the model's vocabulary beyond the tokenizer's have no text and cannot be chosen.
  const int64_t vocabulary = tokenizer_.vocab_size();
  std::unique_ptr<TokenSource> source;
  if (options.sampler.repeat_penalty == 1) {
    source = std::make_unique<DeviceTokens>(stream_, decoder_, options.sampler, vocabulary);
  } else {
    source = std::make_unique<HostTokens>(stream_, decoder_, options.sampler, vocabulary);
  }
  data::StreamDecoder decoder(tokenizer_);
  const auto emit = [&](std::string_view piece) {
    result.text += piece;
    if (on_text) on_text(piece);
  };
  const auto is_wanted = [&](size_t number) {
    return options.max_tokens < 0 || static_cast<int64_t>(number) < options.max_tokens;
  };
  if (is_wanted(0)) source->ask(static_cast<int64_t>(text.size()));
  while (is_wanted(result.tokens.size())) {
    if (options.should_stop && options.should_stop()) {
      result.stop = StopReason::Stopped;
      break;
    }
    const bool has_room = decoder_.cache().length() < context_length();
    const bool goes_on = is_wanted(result.tokens.size() + 1) && has_room;
    const auto next_position = static_cast<int64_t>(text.size()) + 1;
    if (goes_on && source->runs_ahead()) source->ask(next_position);
    const uint32_t token = source->take(text);
    if (!result.tokens.empty()) result.decoded_tokens += 1;
    if (std::find(options.end_tokens.begin(), options.end_tokens.end(), token) != options.end_tokens.end()) {
      result.stop = StopReason::EndOfText;
      break;
    }
    text.push_back(token);
    result.tokens.push_back(token);
    emit(decoder.push(token));
    if (is_wanted(result.tokens.size()) && !has_room) {
      result.stop = StopReason::ContextFull;
      break;
    }
    if (goes_on && !source->runs_ahead()) source->ask(next_position);
  }
  if (const std::string rest = decoder.finish(); !rest.empty()) emit(rest);
}

GenerateResult Generator::generate(std::span<const uint32_t> prompt, const GenerateOptions& options,
                                   const TextFunction& on_text) {
  check_request(prompt, options);
  GenerateResult result;
  result.prompt_tokens = static_cast<int64_t>(prompt.size());
  decoder_.truncate(0);
  const double start = now_seconds();
  if (!feed_prompt(prompt, options)) {
    result.stop = StopReason::Stopped;
    return result;
  }
  const double prompt_end = now_seconds();
  result.prompt_seconds = prompt_end - start;
  write({prompt.begin(), prompt.end()}, options, result, on_text);
  result.decode_seconds = now_seconds() - prompt_end;
  // What is no number stays in the cache, so that the last token shows it.
  if (result.decoded_tokens > 0) check_logits_of(stream_, decoder_, tokenizer_.vocab_size());
  return result;
}

}  // namespace athanor::generate
