// Training of a byte-level BPE: the pair of neighbouring tokens that is most frequent becomes a token, again and again.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/splitter.h"
#include "data/tokenizer.h"

namespace athanor::data {

struct TokenizerTraining {
  /// Entries in all: special tokens, the 256 byte symbols, merges. Never exceeded.
  int64_t vocab_size = 0;
  Split split = Split::Tekken;
  /// They get the first ids, in this order.
  std::vector<std::string> special_tokens{std::string(kEndOfText)};
  /// A pair seen less often does not become a token.
  int64_t min_frequency = 2;
  /// 0: as many as this process may run on. The result does not depend on it.
  int threads = 0;
};

/// Gives one document after the other, nothing at the end. Called from one thread at a time.
using DocumentSource = std::function<std::optional<std::string>()>;

/// Trains a tokenizer. Ids: the special tokens, then the byte symbols by their code points, then the merges as they were made. Among
/// pairs equally frequent the one with the smaller left id, then the smaller right id, comes first: as in the tokenizers package.
/// When no pair is frequent enough any more, it stops early; then vocab_size() of the result is smaller than asked, and the log warns.
/// Throws Error for a vocabulary smaller than 256 + special tokens + 1, doubled special tokens, and no text.
Tokenizer train_tokenizer(const DocumentSource& documents, const TokenizerTraining& options);

/// The same on texts in memory.
Tokenizer train_tokenizer(const std::vector<std::string>& texts, const TokenizerTraining& options);

}  // namespace athanor::data
