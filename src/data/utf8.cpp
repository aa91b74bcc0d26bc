// The table of well-formed sequences: Unicode Standard, table 3-7.
#include "data/utf8.h"

#include <cstring>

namespace athanor::data {

namespace {

bool is_continuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

/// Bytes that the character beginning with this byte has, 0 for a byte that begins none.
size_t announced_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

/// The second byte alone decides on overlong forms, surrogates and the upper end.
bool is_second_byte(unsigned char lead, unsigned char second) {
  if (!is_continuation(second)) return false;
  switch (lead) {
    case 0xE0:
      return second >= 0xA0;
    case 0xED:
      return second < 0xA0;
    case 0xF0:
      return second >= 0x90;
    case 0xF4:
      return second < 0x90;
    default:
      return true;
  }
}

}  // namespace

size_t utf8_character_length(std::string_view bytes) {
  if (bytes.empty()) return 0;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const size_t length = announced_length(data[0]);
  if (length > bytes.size() || length <= 1) return length > bytes.size() ? 0 : length;
  if (!is_second_byte(data[0], data[1])) return 0;
  for (size_t i = 2; i < length; ++i) {
    if (!is_continuation(data[i])) return 0;
  }
  return length;
}

size_t valid_utf8_prefix(std::string_view bytes) {
  constexpr uint64_t kHighBits = 0x8080808080808080u;
  size_t at = 0;
  while (at < bytes.size()) {
    uint64_t eight = 0;
    if (bytes.size() - at >= sizeof eight) {
      std::memcpy(&eight, bytes.data() + at, sizeof eight);
      if ((eight & kHighBits) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const size_t length = utf8_character_length(bytes.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

size_t incomplete_utf8_tail(std::string_view bytes) {
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  for (size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
    const unsigned char* lead = data + bytes.size() - back;
    if (is_continuation(*lead)) continue;
    if (announced_length(*lead) <= back) return 0;
    return back == 1 || is_second_byte(lead[0], lead[1]) ? back : 0;
  }
  return 0;
}

uint32_t utf8_code_point(std::string_view character) {
  const auto* data = reinterpret_cast<const unsigned char*>(character.data());
  switch (character.size()) {
    case 1:
      return data[0];
    case 2:
      return (data[0] & 0x1Fu) << 6 | (data[1] & 0x3Fu);
    case 3:
      return (data[0] & 0x0Fu) << 12 | (data[1] & 0x3Fu) << 6 | (data[2] & 0x3Fu);
    default:
      return (data[0] & 0x07u) << 18 | (data[1] & 0x3Fu) << 12 | (data[2] & 0x3Fu) << 6 | (data[3] & 0x3Fu);
  }
}

void append_utf8(std::string& out, uint32_t code_point) {
  const auto put = [&out](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | ((code_point >> 12) & 0x3F));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

}  // namespace athanor::data
