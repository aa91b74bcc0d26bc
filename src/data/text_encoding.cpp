// The guess looks at how high bytes stand: in pairs (East Asian), in long runs (Cyrillic, Greek) or alone (Western, Turkish).
#include "data/text_encoding.h"

#include <iconv.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.h"
#include "data/utf8.h"

namespace athanor::data {

namespace {

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";
constexpr std::string_view kUtf16LeMark = "\xFF\xFE";
constexpr std::string_view kUtf16BeMark = "\xFE\xFF";
constexpr size_t kGuessBytes = 1 << 20;  // enough to guess from

class Converter {
 public:
  explicit Converter(const std::string& encoding) : handle_(iconv_open("UTF-8", encoding.c_str())) {}
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;
  ~Converter() {
    if (known()) iconv_close(handle_);
  }

  bool known() const { return handle_ != reinterpret_cast<iconv_t>(-1); }

  /// Appends to `out`; returns the offset of the first byte that does not convert, bytes.size() when all did.
  size_t convert(std::string_view bytes, std::string& out) const {
    char* input = const_cast<char*>(bytes.data());  // iconv takes but does not write it
    size_t left = bytes.size();
    std::array<char, 16384> buffer;
    for (;;) {
      char* output = buffer.data();
      size_t room = buffer.size();
      // A last call without input writes what a stateful encoding holds back.
      const size_t result =
          left > 0 ? iconv(handle_, &input, &left, &output, &room) : iconv(handle_, nullptr, nullptr, &output, &room);
      const int error = errno;
      const bool done = result != static_cast<size_t>(-1) && left == 0 && output == buffer.data();
      out.append(buffer.data(), buffer.size() - room);
      if (done) return bytes.size();
      if (result == static_cast<size_t>(-1) && error != E2BIG) return bytes.size() - left;
    }
  }

 private:
  iconv_t handle_;
};

bool converts(std::string_view bytes, const std::string& encoding) {
  const Converter converter(encoding);
  if (!converter.known()) return false;
  std::string out;
  const size_t good = converter.convert(bytes, out);
  return bytes.size() - good < 4;  // the sample may end within a character
}

std::string convert_from(std::string_view bytes, const std::string& encoding, size_t offset, std::string_view name) {
  const Converter converter(encoding);
  check(converter.known(), "text: the encoding \"{}\" is not known; `iconv -l` lists the names", encoding);
  std::string out;
  const size_t good = converter.convert(bytes, out);
  check(good == bytes.size(),
        "text: {} is not {}: the byte 0x{:02X} at offset {} does not convert; name its encoding with --encoding", name,
        encoding, static_cast<unsigned char>(bytes[std::min(good, bytes.size() - 1)]), good + offset);
  return out;
}

struct HighBytes {
  size_t all = 0;        // bytes over 0x7F
  size_t letters = 0;    // ASCII letters
  size_t in_pairs = 0;   // in runs of even length
  size_t in_long = 0;    // in runs of at least 3
  size_t turkish = 0;    // ğ ı ş İ Ş Ğ in windows-1254
  size_t even_zero = 0;  // zero bytes at even offsets: UTF-16 BE
  size_t odd_zero = 0;
};

HighBytes count_high_bytes(std::string_view bytes) {
  HighBytes counts;
  size_t run = 0;
  for (size_t i = 0; i <= bytes.size(); ++i) {
    const unsigned char byte = i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0x20;
    if (byte > 0x7F) {
      ++run;
      ++counts.all;
      counts.turkish += byte == 0xF0 || byte == 0xFD || byte == 0xFE || byte == 0xDD || byte == 0xDE || byte == 0xD0;
      continue;
    }
    if (run % 2 == 0) counts.in_pairs += run;
    if (run >= 3) counts.in_long += run;
    run = 0;
    if (byte == 0) ++(i % 2 == 0 ? counts.even_zero : counts.odd_zero);
    counts.letters += (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
  }
  return counts;
}

}  // namespace

bool looks_binary(std::string_view bytes) {
  if (bytes.starts_with(kUtf16LeMark) || bytes.starts_with(kUtf16BeMark)) return false;
  if (bytes.find('\0') != std::string_view::npos) return true;
  const auto is_control = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && !(byte >= 0x07 && byte <= 0x0D) && byte != 0x1A && byte != 0x1B;
  };
  return std::count_if(bytes.begin(), bytes.end(), is_control) * 20 > static_cast<std::ptrdiff_t>(bytes.size());
}

std::string likely_encoding(std::string_view bytes) {
  bytes = bytes.substr(0, kGuessBytes);
  const HighBytes counts = count_high_bytes(bytes);
  if (counts.odd_zero * 4 > bytes.size() && counts.even_zero * 8 < counts.odd_zero) return "UTF-16LE";
  if (counts.even_zero * 4 > bytes.size() && counts.odd_zero * 8 < counts.even_zero) return "UTF-16BE";
  if (looks_binary(bytes)) return "";
  // Mostly high bytes: a script of its own. East Asian text has a pair a character and few runs of odd length.
  if (counts.in_long * 2 > counts.all && counts.all > counts.letters) {
    if (counts.in_pairs * 10 > counts.all * 8) {
      for (const char* encoding : {"GB18030", "EUC-JP", "EUC-KR", "BIG5", "SHIFT_JIS"}) {
        if (converts(bytes, encoding)) return encoding;
      }
    }
    return "windows-1251";
  }
  return counts.turkish * 3 > counts.all ? "windows-1254" : "windows-1252";
}

std::string to_utf8(std::string bytes, std::string_view encoding, std::string_view name) {
  if (!encoding.empty()) {
    std::string text = convert_from(bytes, std::string(encoding), 0, name);
    if (text.starts_with(kUtf8Mark)) text.erase(0, kUtf8Mark.size());
    return text;
  }
  if (bytes.starts_with(kUtf16LeMark)) return convert_from(std::string_view(bytes).substr(2), "UTF-16LE", 2, name);
  if (bytes.starts_with(kUtf16BeMark)) return convert_from(std::string_view(bytes).substr(2), "UTF-16BE", 2, name);
  const size_t valid = valid_utf8_prefix(bytes);
  if (valid < bytes.size()) {
    const std::string guess = likely_encoding(bytes);
    const std::string advice = guess.empty() ? "it looks like no text at all; leave it out"
                                             : fmt::format("it is likely {}; pass --encoding {}", guess, guess);
    fail("text: {} is not UTF-8: bad byte 0x{:02X} at offset {}; {}", name, static_cast<unsigned char>(bytes[valid]),
         valid, advice);
  }
  if (bytes.starts_with(kUtf8Mark)) bytes.erase(0, kUtf8Mark.size());
  return bytes;
}

}  // namespace athanor::data
