// Text to tokens on several threads, a few megabytes at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "data/text_reader.h"
#include "data/token_file.h"

namespace athanor::data {

/// Receives the tokens of the documents in order, each in one piece or more.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  virtual void append(std::span<const uint32_t> tokens) = 0;
  virtual void end_document(size_t input) = 0;
};

/// Encodes each document and ends it with the tokenizer's end-of-text token. Special tokens spelled in the text are plain text.
/// The tokens do not depend on the number of threads; 0: as many as this process may run on.
void encode_parts(const TextParts& parts, const Tokenizer& tokenizer, int threads, TokenSink& sink);

/// The same, kept in memory. Throws Error when there is no text.
TokenData encode_documents(const TextParts& parts, const Tokenizer& tokenizer, int threads = 0);
/// Of texts in memory, each a document.
TokenData encode_documents(std::span<const std::string> texts, const Tokenizer& tokenizer, int threads = 0);

struct EncodedTexts {
  int64_t text_bytes = 0;
  int64_t empty_documents = 0;  // lines of .jsonl whose text is empty
};

/// The files to a token file whose sources are their inputs; memory grows with neither. Throws Error when there is no document.
EncodedTexts encode_to_file(const TextFiles& files, const TextOptions& options, const Tokenizer& tokenizer, int threads,
                            const std::filesystem::path& path);

}  // namespace athanor::data
