// Writes text behind a prompt: the prompt in chunks, then token by token over a key/value cache. It stops at the context's end
// instead of shifting the context, since then the text would go on from a past that the model never saw so.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"
#include "generate/decoder.h"
#include "generate/sampler.h"

namespace athanor::generate {

struct GenerateOptions {
  int64_t max_tokens = 256;  // -1: until the text or the context ends
  SamplerOptions sampler;
  std::vector<uint32_t> end_tokens;     // any of these ends the text and is not part of it
  std::function<bool()> should_stop{};  // asked before each chunk of the prompt and each token; empty: never
};

enum class StopReason { EndOfText, MaxTokens, ContextFull, Stopped };

/// "end_of_text", "max_tokens", "context_full", "stopped"
std::string_view name_of(StopReason reason);

struct GenerateResult {
  std::vector<uint32_t> tokens;  // what was written, without the end token
  std::string text;
  StopReason stop = StopReason::MaxTokens;
  int64_t prompt_tokens = 0;
  double prompt_seconds = 0;   // until the logits of the first token are on the host
  int64_t decoded_tokens = 0;  // tokens fed one by one after the prompt
  double decode_seconds = 0;

  double prompt_tokens_per_second() const;
  double decode_tokens_per_second() const;
};

/// Receives a piece of text as soon as its characters are complete; may be empty.
using TextFunction = std::function<void(std::string_view)>;

/// Uses the stream, which must outlive it. One text at a time.
class Generator {
 public:
  /// context_length: positions kept, at most the model's max_position_embeddings; 0: all of those. Throws Error for more, and for
  /// a tokenizer with more ids than the model.
  Generator(device::Stream& stream, DecoderWeights weights, data::Tokenizer tokenizer, int64_t context_length = 0);
  /// Reads the model's weights where they lie: it must outlive the generator.
  Generator(device::Stream& stream, const nn::Llama& model, data::Tokenizer tokenizer, int64_t context_length = 0);

  int64_t context_length() const { return decoder_.cache().capacity(); }

  /// Throws Error for an empty prompt, one that is longer than the context (with both numbers), and logits that are not numbers: those
  /// behind the prompt are looked at, and those of the last token.
  GenerateResult generate(std::span<const uint32_t> prompt, const GenerateOptions& options,
                          const TextFunction& on_text = {});

 private:
  void check_request(std::span<const uint32_t> prompt, const GenerateOptions& options) const;
  bool feed_prompt(std::span<const uint32_t> prompt, const GenerateOptions& options);
  void write(std::vector<uint32_t> text, const GenerateOptions& options, GenerateResult& result,
             const TextFunction& on_text);

  device::Stream& stream_;
  data::Tokenizer tokenizer_;
  Decoder decoder_;
};

}  // namespace athanor::generate
