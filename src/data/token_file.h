// Text as tokens, in memory or mapped from a file, with the places where documents begin and the tokenizer that made them.
// The file is one safetensors file (docs/formats.md), known by its content; a file named .bin is nanoGPT's raw u16 tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "data/tokenizer.h"

namespace athanor::data {

/// Where documents begin, and at last the number of tokens, as the file holds them: at any byte, so each is copied out.
class DocumentOffsets {
 public:
  DocumentOffsets() = default;
  explicit DocumentOffsets(std::span<const std::byte> bytes) : bytes_(bytes) {}

  size_t size() const { return bytes_.size() / sizeof(uint64_t); }
  uint64_t operator[](int64_t i) const {
    uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + static_cast<size_t>(i) * sizeof value, sizeof value);
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
};

/// Documents that came from one input (a file or folder of the command line), one after the other.
struct TokenSource {
  std::string name;
  int64_t documents = 0;
};

/// Immutable tokens of a corpus; copies share them, and many threads may read. Those of a file stay in the file: memory does not grow
/// with them.
class TokenData {
 public:
  /// Maps a token file. Throws Error with the path and the reason when it is not one, when an id is outside the vocabulary, or when the
  /// offsets of the documents are not increasing from 0 to the number of tokens.
  static TokenData open(const std::filesystem::path& path);

  /// documents: where each begins, and at last the number of tokens. Throws Error when they are not increasing or an id is outside
  /// the tokenizer's vocabulary.
  TokenData(std::span<const uint32_t> tokens, std::vector<uint64_t> documents, std::optional<Tokenizer> tokenizer,
            std::vector<TokenSource> sources = {});

  int64_t num_tokens() const;
  int64_t num_documents() const { return static_cast<int64_t>(documents().size()) - 1; }
  /// num_documents() + 1 offsets: document i is [documents()[i], documents()[i + 1]).
  DocumentOffsets documents() const;
  /// The document that holds a token.
  int64_t document_at(int64_t token) const;
  /// At least one; their documents add up to all.
  const std::vector<TokenSource>& sources() const;
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

/// Writes a token file document by document; what was written does not stay in memory.
class TokenFileWriter {
 public:
  /// inputs: names of the sources, in the order in which their documents come. Throws Error when the file cannot be written.
  TokenFileWriter(const std::filesystem::path& path, const Tokenizer& tokenizer,
                  const std::vector<std::string>& inputs);
  ~TokenFileWriter();

  /// Appends to the current document, which may come in any number of pieces.
  void append(std::span<const uint32_t> tokens);
  /// The current document, of the source with this number, ends. Sources come in order; an empty document is none.
  void end_document(size_t source = 0);
  int64_t num_tokens() const;

  /// Puts the file in place. Throws Error when there is no document.
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes the token file whole or not at all. Throws Error when the tokenizer is not known or the file cannot be written.
void write_token_file(const std::filesystem::path& path, const TokenData& data);

/// True when the file's content, or the ending .bin, says that it holds tokens and not text. Never throws for a readable file.
bool is_token_file(const std::filesystem::path& path);

}  // namespace athanor::data
