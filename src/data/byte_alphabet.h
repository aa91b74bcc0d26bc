// The alphabet of byte-level BPE: each of the 256 bytes has a printable character that stands for it in tokenizer.json (GPT-2's
// mapping: printable Latin-1 stands for itself, the rest for U+0100 onwards in order), so that a vocabulary can be text.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace athanor::data {

/// The code point that stands for a byte, 0x21 to 0x143.
uint32_t symbol_of_byte(uint8_t byte);

/// The 256 bytes in the order of their symbols' code points: the order of their ids in a vocabulary trained here.
const std::array<uint8_t, 256>& bytes_in_symbol_order();

/// Each byte as its symbol, in UTF-8: " a" becomes "Ġa".
std::string bytes_to_symbols(std::string_view bytes);

/// The reverse; nothing when a character is not a symbol.
std::optional<std::string> symbols_to_bytes(std::string_view symbols);

}  // namespace athanor::data
