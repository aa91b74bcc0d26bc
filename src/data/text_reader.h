// Text files as documents, read a part at a time: memory grows with neither files nor documents. A .jsonl or .ndjson file, packed or
// not, has a document a line; any other file is one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "data/text_files.h"
#include "data/tokenizer_training.h"

namespace athanor::data {

struct TextOptions {
  std::string encoding{};           // as for to_utf8
  std::string text_field = "text";  // of a line of JSON
};

/// A stretch of a document, cut from the next where no piece of the tokenizer is (Splitter::safe_cut). A stretch of a megabyte without
/// such a place, of no usual text, is cut between two characters.
struct TextPart {
  std::string text;
  bool ends_document = false;
  size_t input = 0;  // place in TextFiles::inputs
};
/// One part after the other, nothing at the end.
using TextParts = std::function<std::optional<TextPart>()>;

class TextReader {
 public:
  /// The files are looked at only as far as they are read.
  TextReader(TextFiles files, TextOptions options);
  TextReader(TextReader&&) noexcept;
  ~TextReader();

  /// Throws Error, with the file and where in it, for bytes that are not of the encoding, a named file without text, and a line that is
  /// no JSON object with a text under the field's name.
  std::optional<TextPart> next();

  /// Bytes of UTF-8 given so far.
  int64_t text_bytes() const;
  /// Lines whose text is empty: they make no document.
  int64_t empty_documents() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The parts as texts of their own, for train_tokenizer, which counts pieces and does not look at documents.
DocumentSource text_source(const TextFiles& files, const TextOptions& options = {});

}  // namespace athanor::data
