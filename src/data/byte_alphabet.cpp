// Two tables made once from the rule in the header.
#include "data/byte_alphabet.h"

#include <algorithm>

#include "data/utf8.h"

namespace athanor::data {

namespace {

constexpr uint32_t kFirstSubstitute = 0x100;
constexpr uint32_t kNumCodePoints = 0x144;  // 68 bytes are not printable, so the last substitute is U+0143

constexpr bool stands_for_itself(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Tables {
  std::array<uint32_t, 256> symbols{};
  std::array<int, kNumCodePoints> bytes{};
  std::array<uint8_t, 256> order{};

  Tables() {
    bytes.fill(-1);
    uint32_t substitute = kFirstSubstitute;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      symbols[byte] = stands_for_itself(byte) ? byte : substitute++;
      bytes[symbols[byte]] = static_cast<int>(byte);
      order[byte] = static_cast<uint8_t>(byte);
    }
    std::sort(order.begin(), order.end(), [this](uint8_t a, uint8_t b) { return symbols[a] < symbols[b]; });
  }
};

const Tables& tables() {
  static const Tables made;
  return made;
}

}  // namespace

uint32_t symbol_of_byte(uint8_t byte) { return tables().symbols[byte]; }

const std::array<uint8_t, 256>& bytes_in_symbol_order() { return tables().order; }

std::string bytes_to_symbols(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() + bytes.size() / 4);
  for (char byte : bytes) append_utf8(out, symbol_of_byte(static_cast<uint8_t>(byte)));
  return out;
}

std::optional<std::string> symbols_to_bytes(std::string_view symbols) {
  std::string out;
  out.reserve(symbols.size());
  while (!symbols.empty()) {
    const size_t length = utf8_character_length(symbols);
    if (length == 0) return std::nullopt;
    const uint32_t code_point = utf8_code_point(symbols.substr(0, length));
    if (code_point >= kNumCodePoints || tables().bytes[code_point] < 0) return std::nullopt;
    out.push_back(static_cast<char>(tables().bytes[code_point]));
    symbols.remove_prefix(length);
  }
  return out;
}

}  // namespace athanor::data
