// From the settings to what a run trains on: text becomes a tokenizer and a token file in the run folder, a token file is opened.
// Memory does not grow with the text.
#pragma once

#include "data/loader.h"
#include "data/token_file.h"
#include "train/run_folder.h"
#include "train/settings.h"

#include <optional>

namespace athanor::train {

struct PreparedData {
  data::TokenData tokens;
  std::optional<data::TokenData> validation;  // of settings.validation_data
  data::Tokenizer tokenizer;
  bool is_from_text = false;  // the tokens were made here and lie in the run folder
  int64_t text_bytes = 0;     // of that text, as UTF-8
};

/// Reads the data that the settings name; the tokens of text are written into the run folder, which is there already. Throws Error for
/// what cannot be trained on.
PreparedData prepare_data(const TrainSettings& settings, const RunFolder& run);

/// How the loader of a run is made from its settings (max_length is resolved).
data::LoaderOptions loader_options(const TrainSettings& settings, const PreparedData& data);

/// A run's own tokens and tokenizer, for resuming; falls back to prepare_data when the run was begun on a token file.
PreparedData reopen_data(const TrainSettings& settings, const RunFolder& run);

/// Hash of the tokens, by which a resumed run knows that they are still the same.
std::string hash_of(const PreparedData& data);

/// Entries of a tokenizer for so much text when the settings say auto: 512 for a megabyte, twice as many for twice the text, at most 32,768.
int64_t automatic_vocab_size(int64_t text_bytes);

}  // namespace athanor::train
