// Samples of a run: what the model writes behind fixed prompts, and how much of it stands in the training text word for word.
#pragma once

#include "data/loader.h"
#include "data/tokenizer.h"
#include "nn/llama.h"
#include "train/settings.h"

#include <optional>
#include <string>
#include <vector>

namespace athanor::train {

struct Sample {
  std::string prompt;
  std::string text;          // prompt included
  int64_t tokens = 0;        // written behind the prompt
  int64_t longest_copy = 0;  // of them, tokens of the longest run that stands in the training text
  int64_t searched = 0;      // training tokens among which it was looked for

  /// One line of samples.jsonl.
  std::string json(int64_t step) const;
};

/// One sample a prompt of the settings (sample_prompts, else sample_prompt, else the start of `opening`). A prompt that fills the context
/// gives none. At most kMostSearched training tokens are compared.
std::vector<Sample> write_samples(device::Stream& stream, const nn::Llama& model, const data::Tokenizer& tokenizer,
                                  const TrainSettings& settings, const data::TokenStream& training,
                                  const data::TokenStream& opening);

/// About a second of searching for each sample.
inline constexpr int64_t kMostSearched = int64_t{1} << 28;

}  // namespace athanor::train
