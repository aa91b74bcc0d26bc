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

  struct Converted {
    size_t bytes = 0;         // that did convert
    bool is_illegal = false;  // what follows is no character; otherwise it may be the beginning of one
  };

  /// Appends to `out`. Bytes of earlier calls that set a state are remembered.
  Converted convert(std::string_view bytes, std::string& out) const {
    char* input = const_cast<char*>(bytes.data());  // iconv takes but does not write it
    size_t left = bytes.size();
    while (left > 0) {
      const bool has_failed = !run(&input, &left, out);
      if (has_failed && errno != E2BIG) return {bytes.size() - left, errno != EINVAL};
    }
    return {bytes.size(), false};
  }

  /// Writes what a stateful encoding holds back.
  void finish(std::string& out) const { run(nullptr, nullptr, out); }

 private:
  bool run(char** input, size_t* left, std::string& out) const {
    std::array<char, 16384> buffer;
    char* output = buffer.data();
    size_t room = buffer.size();
    const size_t result = iconv(handle_, input, left, &output, &room);
    const int error = errno;
    out.append(buffer.data(), buffer.size() - room);
    errno = error;
    return result != static_cast<size_t>(-1);
  }

  iconv_t handle_;
};

bool converts(std::string_view bytes, const std::string& encoding) {
  const Converter converter(encoding);
  if (!converter.known()) return false;
  std::string out;
  const size_t good = converter.convert(bytes, out).bytes;
  return bytes.size() - good < 4;  // the sample may end within a character
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

bool is_empty_text(std::string_view bytes) {
  return bytes.empty() || bytes == kUtf8Mark || bytes == kUtf16LeMark || bytes == kUtf16BeMark;
}

struct TextDecoder::State {
  std::string encoding;
  std::string name;
  bool is_begun = false;
  std::unique_ptr<Converter> converter;  // none for UTF-8
  std::string held;                      // bytes that wait for the rest of their character
  uint64_t offset = 0;                   // of the first of them in the text
  bool may_begin_with_mark = false;      // converted text whose first character is not out yet

  void use(std::string from) {
    encoding = std::move(from);
    converter = std::make_unique<Converter>(encoding);
    check(converter->known(), "text: the encoding \"{}\" is not known; `iconv -l` lists the names", encoding);
  }

  /// Reads a byte-order mark. `bytes` are all of the text, or at least its first three.
  std::string_view begin(std::string_view bytes) {
    is_begun = true;
    size_t mark = 0;
    if (!encoding.empty()) {
      use(encoding);
      may_begin_with_mark = true;
    } else if (bytes.starts_with(kUtf16LeMark) || bytes.starts_with(kUtf16BeMark)) {
      mark = 2;
      use(bytes.starts_with(kUtf16LeMark) ? "UTF-16LE" : "UTF-16BE");
    } else if (bytes.starts_with(kUtf8Mark)) {
      mark = kUtf8Mark.size();
    }
    offset = mark;
    return bytes.substr(mark);
  }

  [[noreturn]] void refuse_utf8(std::string_view bytes, size_t valid) const {
    const std::string guess = likely_encoding(bytes);
    const std::string advice = guess.empty() ? "it looks like no text at all; leave it out"
                                             : fmt::format("it is likely {}; pass --encoding {}", guess, guess);
    fail("text: {} is not UTF-8: bad byte 0x{:02X} at offset {}; {}", name, static_cast<unsigned char>(bytes[valid]),
         offset + valid, advice);
  }

  /// How many of the bytes were taken; the rest is the beginning of a character.
  size_t take_utf8(std::string_view bytes, std::string& out, bool is_end) {
    const size_t valid = valid_utf8_prefix(bytes);
    const bool may_go_on = !is_end && valid + incomplete_utf8_tail(bytes) == bytes.size();
    if (valid < bytes.size() && !may_go_on) refuse_utf8(bytes, valid);
    out.append(bytes.substr(0, valid));
    return valid;
  }

  size_t take_converted(std::string_view bytes, std::string& out, bool is_end) {
    const size_t before = out.size();
    const Converter::Converted got = converter->convert(bytes, out);
    if (got.bytes < bytes.size() && (got.is_illegal || is_end))
      fail("text: {} is not {}: the byte 0x{:02X} at offset {} does not convert; name its encoding with --encoding",
           name, encoding, static_cast<unsigned char>(bytes[got.bytes]), offset + got.bytes);
    if (is_end) converter->finish(out);
    if (may_begin_with_mark && out.size() > before) {
      may_begin_with_mark = false;
      if (std::string_view(out).substr(before).starts_with(kUtf8Mark)) out.erase(before, kUtf8Mark.size());
    }
    return got.bytes;
  }

  void take(std::string_view bytes, std::string& out, bool is_end) {
    std::string joined;
    if (!held.empty()) {
      joined = std::move(held);
      joined.append(bytes);
      bytes = joined;
      held.clear();
    }
    if (!is_begun && bytes.size() < kUtf8Mark.size() && !is_end) {
      held = bytes;
      return;
    }
    if (!is_begun) bytes = begin(bytes);
    const size_t taken = converter ? take_converted(bytes, out, is_end) : take_utf8(bytes, out, is_end);
    held = bytes.substr(taken);
    offset += taken;
  }
};

TextDecoder::TextDecoder(std::string encoding, std::string name) : state_(std::make_unique<State>()) {
  state_->encoding = std::move(encoding);
  state_->name = std::move(name);
}
TextDecoder::TextDecoder(TextDecoder&&) noexcept = default;
TextDecoder& TextDecoder::operator=(TextDecoder&&) noexcept = default;
TextDecoder::~TextDecoder() = default;

void TextDecoder::push(std::string_view bytes, std::string& out) { state_->take(bytes, out, false); }
void TextDecoder::finish(std::string& out) { state_->take({}, out, true); }

std::string to_utf8(std::string_view bytes, std::string_view encoding, std::string_view name) {
  TextDecoder decoder{std::string(encoding), std::string(name)};
  std::string text;
  text.reserve(bytes.size());
  decoder.push(bytes, text);
  decoder.finish(text);
  return text;
}

}  // namespace athanor::data
