// What a model makes of given text: loss over all its tokens, and questions answered by likelihood.
#pragma once

#include "data/loader.h"
#include "data/tokenizer.h"
#include "nn/llama.h"
#include "train/run_folder.h"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace athanor::train {

struct TextEvalOptions {
  int64_t context = 0;  // tokens that the model sees at once; 0: its max_position_embeddings
  int64_t stride = 0;   // tokens by which the window moves; 0: the context, so that windows do not overlap
  int64_t batch = 8;    // windows at once

  /// Throws Error for what a model with a context of `most` tokens cannot follow.
  void validate(int64_t most) const;
};

/// Sums over tokens.
struct TextScore {
  int64_t tokens = 0;
  int64_t bytes = 0;
  double nats = 0;

  double loss() const { return nats / static_cast<double>(tokens); }
  double perplexity() const;
  /// Nats of all tokens as bits, over the bytes of the text: comparable between tokenizers.
  double bits_per_byte() const;
  void add(const TextScore& other);
};

/// Scores every token of `text`; `before` (at least one token: what begins a text for this model) is seen and not scored. The text is cut into
/// windows of `context` inputs; with a stride below it each window scores only its last `stride` tokens, which then have seen more.
/// Throws Error for an empty text or options that the model cannot follow.
TextScore evaluate_text(device::Stream& stream, const nn::Llama& model, const data::Tokenizer& tokenizer,
                        std::span<const uint32_t> before, std::span<const uint32_t> text,
                        const TextEvalOptions& options);

struct ChoiceQuestion {
  std::string question;
  std::vector<std::string> choices;
  size_t answer = 0;
  std::string place{};  // file and line, for messages
};

/// One JSON object a line: {"question": "...", "choices": ["...", "..."], "answer": 0}. Throws Error with file and line for anything else.
std::vector<ChoiceQuestion> read_choice_task(const std::filesystem::path& path);

struct ChoiceScore {
  int64_t questions = 0;
  int64_t right = 0;             // the answer has the largest sum of log-likelihoods
  int64_t right_normalized = 0;  // ... over the bytes of the choice
  int64_t shortened = 0;         // questions that were too long for the context and lost their beginning
  double chance = 0;             // questions that a guess answers: the sum of one over the number of choices
};

/// A choice is scored as the continuation of its question, behind a space unless one of them brings white space. Of equal choices the
/// first counts. A question that is too long for the context loses its beginning. Throws Error when a choice alone does.
ChoiceScore evaluate_choices(device::Stream& stream, const nn::Llama& model, const data::Tokenizer& tokenizer,
                             std::span<const uint32_t> before, std::span<const ChoiceQuestion> questions);

/// The tokens that a run was trained on, validation left out; nothing where they are not there any more or are not of this tokenizer.
std::optional<data::TokenStream> training_tokens_of(const RunFolder& run, const data::Tokenizer& tokenizer);

}  // namespace athanor::train
