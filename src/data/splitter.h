// Cuts text into the pieces that byte-level BPE works on, by the splitting expressions of well-known tokenizers, run by PCRE2.
// Every byte of the input is in exactly one piece, in order, whatever the bytes are.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace athanor::data {

/// The splitting expressions that are known, each under the name that --split takes.
enum class Split { Tekken, Gpt2, Llama3 };

/// "tekken", "gpt2", "llama3".
std::string_view name_of(Split split);
/// Throws Error for another name, listing those known.
Split split_from_name(std::string_view name);
/// What GGUF files call it in tokenizer.ggml.pre: "tekken", "gpt-2", "llama-bpe".
std::string_view gguf_name_of(Split split);
/// The expression as tokenizer.json spells it.
std::string_view pattern_of(Split split);
/// The split whose expression this is.
std::optional<Split> split_from_pattern(std::string_view pattern);

/// A compiled splitting expression; one may be used from many threads at once, each with a Scratch of its own.
class Splitter {
 public:
  /// Memory that matching works in, to be kept from call to call.
  class Scratch {
   public:
    explicit Scratch(const Splitter& splitter);
    Scratch(Scratch&&) noexcept;
    Scratch& operator=(Scratch&&) noexcept;
    ~Scratch();

   private:
    friend class Splitter;
    struct State;
    std::unique_ptr<State> state_;
  };

  using PieceSink = std::function<void(std::string_view)>;

  explicit Splitter(Split split);
  Splitter(Splitter&&) noexcept;
  Splitter& operator=(Splitter&&) noexcept;
  ~Splitter();

  Split which() const { return which_; }

  /// Gives the pieces of the text to the sink, in order. A stretch of bytes that is not UTF-8 is a piece of its own, and the text before
  /// and after it is cut as if it stood alone. Takes time in proportion to the length for the three expressions.
  void split(std::string_view text, Scratch& scratch, const PieceSink& sink) const;

  /// Where text at or after `from` may be cut in two without changing its pieces: between a letter and a space, a line's end or East Asian
  /// punctuation, which every expression separates; text.size() when there is no such place within `reach` bytes.
  static size_t safe_cut(std::string_view text, size_t from, size_t reach = 1 << 20);

 private:
  struct Compiled;
  void split_valid(std::string_view text, Scratch::State& scratch, const PieceSink& sink) const;

  Split which_;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace athanor::data
