// Spoilt copies of a file's content, one change each: every byte value that occurs is a class, met at its first, middle and last place, and
// the first sixteen bytes (lengths and magic numbers) one by one. For tests of every layer.
#pragma once

#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace athanor {

struct Garbled {
  std::string content;
  std::string change;  // "byte 12 xor 1"
};

/// The places that for_each_garbled changes, rising.
inline std::set<size_t> garbled_places(std::string_view content) {
  std::array<std::vector<size_t>, 256> by_value;
  std::set<size_t> places;
  for (size_t at = 0; at < content.size(); ++at) {
    by_value[static_cast<unsigned char>(content[at])].push_back(at);
    if (at < 16) places.insert(at);
  }
  for (const std::vector<size_t>& of_value : by_value) {
    if (!of_value.empty()) places.insert({of_value.front(), of_value[of_value.size() / 2], of_value.back()});
  }
  return places;
}

/// Calls visit(Garbled) for each place with single bits changed, the byte zeroed, taken out, doubled, and the file cut before it.
template <typename Visit>
void for_each_garbled(std::string_view content, const Visit& visit) {
  for (const size_t at : garbled_places(content)) {
    const auto change = [&](std::string_view name, auto edit) {
      Garbled garbled{std::string(content), fmt::format("byte {} {}", at, name)};
      edit(garbled.content);
      if (garbled.content != content) visit(garbled);
    };
    for (const int bits : {0x01, 0x10, 0x20, 0x80}) {
      change(fmt::format("xor {}", bits),
             [&](std::string& text) { text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ bits); });
    }
    change("zeroed", [&](std::string& text) { text[at] = '\0'; });
    change("taken out", [&](std::string& text) { text.erase(at, 1); });
    change("doubled", [&](std::string& text) { text.insert(at, 1, text[at]); });
    change("cut before", [&](std::string& text) { text.resize(at); });
  }
}

}  // namespace athanor
