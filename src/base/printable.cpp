// Control characters are C0, DEL, and C1, which UTF-8 writes as C2 80 to C2 9F.
#include "base/printable.h"

#include <fmt/format.h>

namespace athanor {

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool stays = byte == '\n' || byte == '\t' || (byte == '\r' && next == '\n');
    if ((byte < 0x20 && !stays) || byte == 0x7F) {
      shown += fmt::format("\\x{:02x}", byte);
    } else if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {
      shown += fmt::format("\\u{:04x}", next);
      ++i;
    } else {
      shown += text[i];
    }
  }
  return shown;
}

}  // namespace athanor
