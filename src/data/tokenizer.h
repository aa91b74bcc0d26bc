// Byte-level BPE tokenizer: any bytes in, the same bytes out. Read and written as Hugging Face's tokenizer.json.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/bpe.h"
#include "data/splitter.h"

namespace athanor::data {

/// What ends a document in tokenizers made here.
inline constexpr std::string_view kEndOfText = "<|endoftext|>";

/// A token that stands beside the merges and is found as whole text.
struct AddedToken {
  uint32_t id = 0;
  std::string content;
  /// Special tokens are found in text only on request; others (such as markers of a chat format) always.
  bool special = true;
};

/// All that makes a tokenizer. Ids are places in `tokens`; an empty string is an id that nothing uses.
struct TokenizerParts {
  Split split = Split::Tekken;
  std::vector<std::string> tokens;  // bytes of each token; of an added token its text
  std::array<uint32_t, 256> byte_tokens{};
  std::vector<BpeMerge> merges;  // in order of rank
  std::vector<AddedToken> added;
  bool ignore_merges = false;  // a piece that is a token is that token, whatever the merges say (Llama 3)
  std::string source_json;     // the file it was read from, given back by to_json unchanged
};

struct EncodeOptions {
  /// Text that spells a special token becomes that token; otherwise it is plain text.
  bool parse_special = false;
  /// Threads for long texts; the tokens do not depend on it.
  int threads = 1;
};

/// Immutable and cheap to copy; const functions may be called from many threads at once.
class Tokenizer {
 public:
  /// Throws Error with the path and the reason when the file is missing or is not a byte-level BPE that athanor knows.
  static Tokenizer load(const std::filesystem::path& path);
  /// `name` stands for the file in messages.
  static Tokenizer from_json(std::string_view text, std::string_view name);
  explicit Tokenizer(TokenizerParts parts);

  /// The text of tokenizer.json: as it was read, or in Hugging Face's form.
  std::string to_json() const;
  /// The text of tokenizer_config.json that makes Hugging Face's and MLX's loaders take the tokenizer.json beside it.
  /// context_length in tokens; 0 when unknown.
  std::string config_json(int64_t context_length = 0) const;

  std::vector<uint32_t> encode(std::string_view bytes, EncodeOptions options = {}) const;
  /// Appends to `out`.
  void encode_to(std::string_view bytes, std::vector<uint32_t>& out, EncodeOptions options = {}) const;

  /// The bytes of the tokens one after the other, special tokens as their text. Throws Error for an id outside the vocabulary.
  std::string decode(std::span<const uint32_t> tokens) const;
  /// Valid as long as a copy of the tokenizer lives. Throws Error for an id outside the vocabulary.
  std::string_view token_bytes(uint32_t id) const;

  /// One more than the largest id.
  int64_t vocab_size() const;
  Split split() const;
  const TokenizerParts& parts() const;
  bool is_special(uint32_t id) const;
  /// Id of the added token with this text.
  std::optional<uint32_t> special(std::string_view content) const;
  /// Id of the token that ends a document: the first of the usual names that the tokenizer has. Throws Error when it has none.
  uint32_t end_of_text() const;

 private:
  struct Model;
  std::shared_ptr<const Model> model_;
};

/// Turns tokens into text as they come, holding back a character until all its bytes are there.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// The text that the token completes; empty while a character is incomplete. Bytes that can never become UTF-8 come out as U+FFFD.
  std::string push(uint32_t token);
  /// What was held back: U+FFFD for an incomplete character.
  std::string finish();

 private:
  Tokenizer tokenizer_;
  std::string held_;
};

}  // namespace athanor::data
