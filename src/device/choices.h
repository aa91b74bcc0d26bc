// Choices between forms of a kernel that compute the same: a launcher asks, a table of what was measured on an adapter answers where it can,
// else the launcher's own rule. A table stays as it is for as long as it is used, so that work repeats bit for bit.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::device {

/// Of a launch: rows, columns and terms of a product, or whatever the choice depends on.
using ChoiceSizes = std::array<int64_t, 3>;

/// A launcher's question: numbers from least to most, all of which are right for this launch.
struct Choice {
  std::string_view kernel;  // "matmul_t"
  std::string_view what;    // "parts"
  ChoiceSizes sizes{};
  int64_t least = 0;
  int64_t most = 0;
  int64_t rule = 0;                              // the answer without a table
  std::span<const std::string_view> names = {};  // of the answers 0, 1, ...; empty: they are numbers
};

/// The nearest of 1, 2, 3, 4, 6, 8, 12, ...: sizes of one class share their answers. At least 1.
int64_t size_class(int64_t size);

/// An answer of a table for a class of sizes.
struct KnownChoice {
  std::string kernel;
  std::string what;
  ChoiceSizes sizes{};
  std::string answer;  // a number, or a name
};

class ChoiceTable {
 public:
  /// Takes the place of an earlier answer to the same question; sizes become those of their class.
  void set(const KnownChoice& known);
  void remove(std::string_view kernel, std::string_view what, const ChoiceSizes& sizes);
  /// The answer, if there is one and this launch admits it.
  std::optional<int64_t> find(const Choice& choice) const;
  bool is_empty() const { return known_.empty(); }
  int64_t size() const { return static_cast<int64_t>(known_.size()); }
  /// In alphabetical order.
  std::vector<KnownChoice> all() const;

 private:
  struct View {
    std::string_view kernel;
    std::string_view what;
    ChoiceSizes sizes;
    auto operator<=>(const View&) const = default;
  };
  struct Key {
    std::string kernel;
    std::string what;
    ChoiceSizes sizes;
    operator View() const { return {kernel, what, sizes}; }
  };
  struct Before {
    using is_transparent = void;
    bool operator()(const View& a, const View& b) const { return a < b; }
  };
  static View view_of(std::string_view kernel, std::string_view what, const ChoiceSizes& sizes);

  std::map<Key, std::string, Before> known_;
};

}  // namespace athanor::device
