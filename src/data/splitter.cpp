// PCRE2 with UTF, Unicode properties and JIT. Its Unicode tables are older than those of the tokenizers package (14 in
// PCRE2 10.42, 16 there) and its \s is wider by U+180E, so the expressions are spelled out before they are compiled.
#include "data/splitter.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "data/utf8.h"

namespace athanor::data {

namespace {

struct SplitFacts {
  Split split;
  std::string_view name;
  std::string_view gguf_name;
  std::string_view pattern;
};

constexpr std::array<SplitFacts, 3> kSplits{{
    {Split::Tekken, "tekken", "tekken",
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
     R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {Split::Gpt2, "gpt2", "gpt-2", R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    {Split::Llama3, "llama3", "llama-bpe",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
     R"(\s*[\r\n]+|\s+(?!\S)|\s+)"},
}};

const SplitFacts& facts_of(Split split) {
  for (const SplitFacts& facts : kSplits) {
    if (facts.split == split) return facts;
  }
  fail("splitter: no such split");
}

/// Characters that Unicode 15 and 16 added to the categories that the expressions use. Harmless with newer tables.
struct Addition {
  std::string_view category;
  std::string_view ranges;
};
constexpr Addition kAdditions[] = {
    {"L",
     "\\x{1C89}-\\x{1C8A}\\x{A7CB}-\\x{A7CD}\\x{A7DA}-\\x{A7DC}\\x{105C0}-\\x{105F3}\\x{10D4A}-\\x{10D65}"
     "\\x{10D6F}-\\x{10D85}\\x{10EC2}-\\x{10EC4}\\x{1123F}-\\x{11240}\\x{11380}-\\x{11389}\\x{1138B}\\x{1138E}"
     "\\x{11390}-\\x{113B5}\\x{113B7}\\x{113D1}\\x{113D3}\\x{11BC0}-\\x{11BE0}\\x{11F02}\\x{11F04}-\\x{11F10}"
     "\\x{11F12}-\\x{11F33}\\x{1342F}\\x{13441}-\\x{13446}\\x{13460}-\\x{143FA}\\x{16100}-\\x{1611D}"
     "\\x{16D40}-\\x{16D6C}\\x{18CFF}\\x{1B132}\\x{1B155}\\x{1DF25}-\\x{1DF2A}\\x{1E030}-\\x{1E06D}"
     "\\x{1E4D0}-\\x{1E4EB}\\x{1E5D0}-\\x{1E5ED}\\x{1E5F0}\\x{2B739}\\x{2EBF0}-\\x{2EE5D}\\x{31350}-\\x{323AF}"},
    {"N",
     "\\x{10D40}-\\x{10D49}\\x{116D0}-\\x{116E3}\\x{11BF0}-\\x{11BF9}\\x{11F50}-\\x{11F59}\\x{16130}-\\x{16139}"
     "\\x{16D70}-\\x{16D79}\\x{1CCF0}-\\x{1CCF9}\\x{1D2C0}-\\x{1D2D3}\\x{1E4F0}-\\x{1E4F9}\\x{1E5F1}-\\x{1E5FA}"},
    {"M",
     "\\x{897}\\x{CF3}\\x{ECE}\\x{10D69}-\\x{10D6D}\\x{10EFC}-\\x{10EFF}\\x{11241}\\x{113B8}-\\x{113C0}\\x{113C2}"
     "\\x{113C5}\\x{113C7}-\\x{113CA}\\x{113CC}-\\x{113D0}\\x{113D2}\\x{113E1}-\\x{113E2}\\x{11F00}-\\x{11F01}"
     "\\x{11F03}\\x{11F34}-\\x{11F3A}\\x{11F3E}-\\x{11F42}\\x{11F5A}\\x{13440}\\x{13447}-\\x{13455}"
     "\\x{1611E}-\\x{1612F}\\x{1E08F}\\x{1E4EC}-\\x{1E4EF}\\x{1E5EE}-\\x{1E5EF}"},
    {"Lu", "\\x{1C89}\\x{A7CB}-\\x{A7CC}\\x{A7DA}\\x{A7DC}\\x{10D50}-\\x{10D65}"},
    {"Ll", "\\x{1C8A}\\x{A7CD}\\x{A7DB}\\x{10D70}-\\x{10D85}\\x{1DF25}-\\x{1DF2A}"},
    {"Lm", "\\x{10D4E}\\x{10D6F}\\x{16D40}-\\x{16D42}\\x{16D6B}-\\x{16D6C}\\x{1E030}-\\x{1E06D}\\x{1E4EB}"},
    {"Lo",
     "\\x{105C0}-\\x{105F3}\\x{10D4A}-\\x{10D4D}\\x{10D4F}\\x{10EC2}-\\x{10EC4}\\x{1123F}-\\x{11240}"
     "\\x{11380}-\\x{11389}\\x{1138B}\\x{1138E}\\x{11390}-\\x{113B5}\\x{113B7}\\x{113D1}\\x{113D3}"
     "\\x{11BC0}-\\x{11BE0}\\x{11F02}\\x{11F04}-\\x{11F10}\\x{11F12}-\\x{11F33}\\x{1342F}\\x{13441}-\\x{13446}"
     "\\x{13460}-\\x{143FA}\\x{16100}-\\x{1611D}\\x{16D43}-\\x{16D6A}\\x{18CFF}\\x{1B132}\\x{1B155}"
     "\\x{1E4D0}-\\x{1E4EA}\\x{1E5D0}-\\x{1E5ED}\\x{1E5F0}\\x{2B739}\\x{2EBF0}-\\x{2EE5D}\\x{31350}-\\x{323AF}"},
};

/// Spells out \s, \S and \p{X} for PCRE2: what tokenizer.json means by them, with the characters added since its tables were made.
std::string expand_pattern(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    if (c != '\\') {
      out += c;
      continue;
    }
    const char escaped = pattern[++i];
    if (escaped == 's' || escaped == 'S') {
      out += escaped == 's' ? "\\p{White_Space}" : "\\P{White_Space}";
      continue;
    }
    if (escaped != 'p') {
      out += c;
      out += escaped;
      continue;
    }
    const size_t end = pattern.find('}', i);
    const std::string_view category = pattern.substr(i + 2, end - i - 2);
    std::string spelled = fmt::format("\\p{{{}}}", category);
    for (const Addition& addition : kAdditions) {
      if (addition.category == category) spelled += addition.ranges;
    }
    out += in_class ? spelled : "[" + spelled + "]";
    i = end;
  }
  return out;
}

}  // namespace

std::string_view name_of(Split split) { return facts_of(split).name; }
std::string_view gguf_name_of(Split split) { return facts_of(split).gguf_name; }
std::string_view pattern_of(Split split) { return facts_of(split).pattern; }

Split split_from_name(std::string_view name) {
  for (const SplitFacts& facts : kSplits) {
    if (facts.name == name) return facts.split;
  }
  fail("tokenizer: there is no split named \"{}\"; use tekken, gpt2 or llama3", name);
}

std::optional<Split> split_from_pattern(std::string_view pattern) {
  for (const SplitFacts& facts : kSplits) {
    if (facts.pattern == pattern) return facts.split;
  }
  return std::nullopt;
}

struct Splitter::Compiled {
  pcre2_code* code = nullptr;
  bool jit = false;

  ~Compiled() { pcre2_code_free(code); }
};

struct Splitter::Scratch::State {
  pcre2_match_data* match = nullptr;
  pcre2_match_context* context = nullptr;
  pcre2_jit_stack* stack = nullptr;

  ~State() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(match);
  }
};

Splitter::Scratch::Scratch(const Splitter& splitter) : state_(std::make_unique<State>()) {
  // A stack that the system fills in only as far as it is used; when 32 MiB do not suffice, split_valid goes on without JIT.
  constexpr size_t kFirstStackBytes = 32 << 10;
  constexpr size_t kMostStackBytes = 32 << 20;
  state_->match = pcre2_match_data_create_from_pattern(splitter.compiled_->code, nullptr);
  state_->context = pcre2_match_context_create(nullptr);
  check(state_->match != nullptr && state_->context != nullptr, "splitter: no memory for matching");
  if (splitter.compiled_->jit) state_->stack = pcre2_jit_stack_create(kFirstStackBytes, kMostStackBytes, nullptr);
  if (state_->stack != nullptr) pcre2_jit_stack_assign(state_->context, nullptr, state_->stack);
  pcre2_set_match_limit(state_->context, UINT32_MAX);
  pcre2_set_depth_limit(state_->context, UINT32_MAX);
  pcre2_set_heap_limit(state_->context, UINT32_MAX);
}

Splitter::Scratch::Scratch(Scratch&&) noexcept = default;
Splitter::Scratch& Splitter::Scratch::operator=(Scratch&&) noexcept = default;
Splitter::Scratch::~Scratch() = default;

Splitter::Splitter(Split split) : which_(split), compiled_(std::make_unique<Compiled>()) {
  const std::string pattern = expand_pattern(pattern_of(split));
  int error = 0;
  PCRE2_SIZE offset = 0;
  compiled_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF | PCRE2_UCP,
                                  &error, &offset, nullptr);
  check(compiled_->code != nullptr, "splitter: PCRE2 refuses the expression of {} at offset {} (error {})",
        name_of(split), offset, error);
  compiled_->jit = pcre2_jit_compile(compiled_->code, PCRE2_JIT_COMPLETE) == 0;
}

Splitter::Splitter(Splitter&&) noexcept = default;
Splitter& Splitter::operator=(Splitter&&) noexcept = default;
Splitter::~Splitter() = default;

void Splitter::split(std::string_view text, Scratch& scratch, const PieceSink& sink) const {
  while (!text.empty()) {
    const size_t valid = valid_utf8_prefix(text);
    if (valid > 0) split_valid(text.substr(0, valid), *scratch.state_, sink);
    text.remove_prefix(valid);
    size_t invalid = 0;
    while (invalid < text.size() && utf8_character_length(text.substr(invalid)) == 0) ++invalid;
    if (invalid > 0) sink(text.substr(0, invalid));
    text.remove_prefix(invalid);
  }
}

void Splitter::split_valid(std::string_view text, Scratch::State& scratch, const PieceSink& sink) const {
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const PCRE2_SIZE* found = pcre2_get_ovector_pointer(scratch.match);
  size_t at = 0;
  while (at < text.size()) {
    int result = PCRE2_ERROR_JIT_STACKLIMIT;
    if (compiled_->jit) {
      result = pcre2_jit_match(compiled_->code, subject, text.size(), at, PCRE2_NO_UTF_CHECK, scratch.match,
                               scratch.context);
    }
    if (result < 0 && result != PCRE2_ERROR_NOMATCH) {
      result = pcre2_match(compiled_->code, subject, text.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, scratch.match,
                           scratch.context);
    }
    if (result == PCRE2_ERROR_NOMATCH) {
      sink(text.substr(at));
      return;
    }
    // Out of memory for matching, or an empty match: one character is a piece, so that no text is lost.
    if (result < 0 || found[1] <= at) {
      const size_t length = utf8_character_length(text.substr(at));
      sink(text.substr(at, length));
      at += length;
      continue;
    }
    if (found[0] > at) sink(text.substr(at, found[0] - at));
    sink(text.substr(found[0], found[1] - found[0]));
    at = found[1];
  }
}

namespace {

/// Letters of scripts in wide use, without the marks among them: ranges of code points.
bool is_plain_letter(uint32_t code) {
  constexpr std::array<std::array<uint32_t, 2>, 15> kRanges{{{'A', 'Z'},
                                                             {'a', 'z'},
                                                             {0xC0, 0xD6},
                                                             {0xD8, 0xF6},
                                                             {0xF8, 0x24F},
                                                             {0x391, 0x3A1},
                                                             {0x3A3, 0x3CE},
                                                             {0x410, 0x44F},
                                                             {0x5D0, 0x5EA},
                                                             {0x620, 0x64A},
                                                             {0x904, 0x939},
                                                             {0x3041, 0x3096},
                                                             {0x30A1, 0x30FA},
                                                             {0x4E00, 0x9FA5},
                                                             {0xAC00, 0xD7A3}}};
  return std::any_of(kRanges.begin(), kRanges.end(),
                     [code](const auto& range) { return code >= range[0] && code <= range[1]; });
}

/// A space, a line's end, or East Asian punctuation that stands where others have a space.
bool begins_a_gap(std::string_view text) {
  if (text[0] == ' ' || text[0] == '\n' || text[0] == '\r') return true;
  for (const std::string_view gap : {"\u3000", "\u3001", "\u3002", "\uFF0C"}) {
    if (text.starts_with(gap)) return true;
  }
  return false;
}

bool ends_with_plain_letter(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && text.size() - begin < 3 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  const std::string_view character = text.substr(begin);
  return utf8_character_length(character) == character.size() && is_plain_letter(utf8_code_point(character));
}

}  // namespace

size_t Splitter::safe_cut(std::string_view text, size_t from, size_t reach) {
  const size_t end = from < text.size() && reach < text.size() - from ? from + reach : text.size();
  for (size_t i = from == 0 ? 1 : from; i < end; ++i) {
    if (begins_a_gap(text.substr(i, 3)) && ends_with_plain_letter(text.substr(0, i))) return i;
  }
  return text.size();
}

}  // namespace athanor::data
