// UTF-8 as the tokenizer and the text readers need it: how far bytes are valid, and code points out of and into bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace athanor::data {

/// Length in bytes of the longest prefix that is valid UTF-8 (no surrogates, nothing overlong, nothing above U+10FFFF).
size_t valid_utf8_prefix(std::string_view bytes);

/// Length of the one valid character at the front, 1 to 4; 0 when the front is not one.
size_t utf8_character_length(std::string_view bytes);

/// How many bytes at the end are the beginning of a character that more bytes could complete: 0 to 3.
size_t incomplete_utf8_tail(std::string_view bytes);

/// Code point of a valid character of the given length.
uint32_t utf8_code_point(std::string_view character);

/// Appends a code point as UTF-8.
void append_utf8(std::string& out, uint32_t code_point);

}  // namespace athanor::data
