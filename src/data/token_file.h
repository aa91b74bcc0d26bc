// Text as tokens, in memory or mapped from a file, with the places where documents begin and the tokenizer that made them.
// The file is one safetensors file (docs/formats.md), known by its content; a file named .bin is nanoGPT's raw u16 tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "data/tokenizer.h"
#include "data/tokenizer_training.h"

namespace athanor::data {

/// Immutable tokens of a corpus; copies share them, and many threads may read.
class TokenData {
 public:
  /// Maps a token file. Throws Error with the path and the reason when it is not one, when an id is outside the vocabulary, or when the
  /// offsets of the documents are not increasing from 0 to the number of tokens.
  static TokenData open(const std::filesystem::path& path);

  /// documents: where each begins, and at last the number of tokens. Throws Error when they are not increasing or an id is outside
  /// the tokenizer's vocabulary.
  TokenData(std::span<const uint32_t> tokens, std::vector<uint64_t> documents, std::optional<Tokenizer> tokenizer);

  int64_t num_tokens() const;
  int64_t num_documents() const { return static_cast<int64_t>(documents().size()) - 1; }
  /// num_documents() + 1 offsets: document i is [documents()[i], documents()[i + 1]).
  std::span<const uint64_t> documents() const;
  /// Ids are below it: the tokenizer's vocabulary, or one more than the largest id where no tokenizer is known.
  int64_t vocab_size() const;
  /// Nothing for nanoGPT's raw tokens.
  const std::optional<Tokenizer>& tokenizer() const;
  /// U16 or U32.
  DType dtype() const;
  std::span<const std::byte> bytes() const;

  /// Copies tokens begin to begin + out.size().
  void read(int64_t begin, std::span<uint32_t> out) const;

 private:
  struct State;
  explicit TokenData(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// Encodes each document and ends it with the tokenizer's end-of-text token. Special tokens spelled in the text are plain text.
/// threads 0: as many as this process may run on.
TokenData encode_documents(const DocumentSource& documents, const Tokenizer& tokenizer, int threads = 0);

/// Writes the token file whole or not at all. Throws Error when the tokenizer is not known or the file cannot be written.
void write_token_file(const std::filesystem::path& path, const TokenData& data);

/// True when the file's content, or the ending .bin, says that it holds tokens and not text. Never throws for a readable file.
bool is_token_file(const std::filesystem::path& path);

}  // namespace athanor::data
