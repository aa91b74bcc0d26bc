// Bytes of a text file to UTF-8: byte-order marks, a named encoding through iconv, and a guess to name when the bytes are not UTF-8.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace athanor::data {

/// Turns the bytes of one text into UTF-8 as they come, in pieces of any length: a character cut by a piece's end is held back.
class TextDecoder {
 public:
  /// encoding and name as for to_utf8, which says what is accepted.
  TextDecoder(std::string encoding, std::string name);
  TextDecoder(TextDecoder&&) noexcept;
  TextDecoder& operator=(TextDecoder&&) noexcept;
  ~TextDecoder();

  /// Appends what the bytes give. Throws Error at the first that does not convert.
  void push(std::string_view bytes, std::string& out);
  /// The text ends here. Throws Error for a character that was begun.
  void finish(std::string& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The text as UTF-8 without byte-order mark. An empty `encoding` means UTF-8, or UTF-16 where a byte-order mark says so; otherwise a
/// name that iconv knows. `name` stands for the file in messages.
/// Throws Error with the offset of the first bad byte, and for UTF-8 the likely encoding; and for an encoding that is not known.
std::string to_utf8(std::string_view bytes, std::string_view encoding, std::string_view name);

/// The encoding that bytes which are not UTF-8 are most likely in, as iconv names it; empty for what looks like no text at all.
std::string likely_encoding(std::string_view bytes);

/// True for nothing, and for a byte-order mark alone.
bool is_empty_text(std::string_view bytes);

/// True for bytes that look like no text: a zero byte without a UTF-16 mark, or many control characters.
bool looks_binary(std::string_view bytes);

}  // namespace athanor::data
