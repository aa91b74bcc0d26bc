// Both searches read the training tokens in blocks.
#include "data/copied_text.h"

#include <algorithm>
#include <functional>
#include <map>

#include "base/error.h"

namespace athanor::data {

namespace {

constexpr int64_t kBlock = 1 << 18;  // training tokens read at once

/// Calls use(begin, tokens) for blocks that cover the stream, each with the last `overlap` tokens of the one before; use says whether to
/// go on.
void for_each_block(const TokenStream& stream, int64_t overlap, int64_t most,
                    const std::function<bool(int64_t begin, std::span<const uint32_t>)>& use) {
  std::vector<uint32_t> tokens;
  const int64_t size = std::min(stream.size(), most);
  for (int64_t begin = 0; begin < size; begin += kBlock) {
    const int64_t from = std::max<int64_t>(0, begin - overlap);
    tokens.resize(static_cast<size_t>(std::min(size, begin + kBlock) - from));
    stream.read(from, tokens);
    if (!use(from, tokens)) return;
  }
}

/// All substrings of a text as paths from state 0.
class SuffixAutomaton {
 public:
  explicit SuffixAutomaton(std::span<const uint32_t> text) {
    states_.emplace_back();
    uint32_t largest = 0;
    for (const uint32_t token : text) largest = std::max(largest, token);
    occurs_.assign(static_cast<size_t>(largest) + 1, false);
    for (const uint32_t token : text) append(token);
  }

  bool occurs(uint32_t token) const { return token < occurs_.size() && occurs_[token]; }

  /// The longest substring that ends with what was fed.
  struct Match {
    size_t state = 0;
    int64_t length = 0;
  };
  void feed(Match& match, uint32_t token) const {
    if (!occurs(token)) {
      match = {};
      return;
    }
    for (;;) {
      const State& state = states_[match.state];
      const auto next = state.next.find(token);
      if (next != state.next.end()) {
        match = {next->second, match.length + 1};
        return;
      }
      if (match.state == 0) {
        match = {};
        return;
      }
      match.state = static_cast<size_t>(state.link);
      match.length = states_[match.state].length;
    }
  }
  /// Where the matched substring ends in the text, at its first occurrence.
  int64_t end_in_text(const Match& match) const { return states_[match.state].first_end; }

 private:
  struct State {
    std::map<uint32_t, size_t> next;
    int64_t length = 0;     // of its longest substring
    int64_t link = -1;      // state of the longest suffix that is another class
    int64_t first_end = 0;  // one behind its first occurrence
  };

  void append(uint32_t token) {
    occurs_[token] = true;
    const size_t added = states_.size();
    const int64_t length = states_[last_].length + 1;
    states_.push_back({{}, length, 0, length});
    int64_t at = static_cast<int64_t>(last_);
    while (at >= 0 && !states_[static_cast<size_t>(at)].next.contains(token)) {
      states_[static_cast<size_t>(at)].next[token] = added;
      at = states_[static_cast<size_t>(at)].link;
    }
    last_ = added;
    if (at < 0) return;
    const size_t from = static_cast<size_t>(at);
    const size_t to = states_[from].next[token];
    if (states_[to].length == states_[from].length + 1) {
      states_[added].link = static_cast<int64_t>(to);
      return;
    }
    const size_t copy = states_.size();
    State split = states_[to];
    split.length = states_[from].length + 1;
    states_.push_back(std::move(split));
    for (; at >= 0; at = states_[static_cast<size_t>(at)].link) {
      const auto next = states_[static_cast<size_t>(at)].next.find(token);
      if (next == states_[static_cast<size_t>(at)].next.end() || next->second != to) break;
      next->second = copy;
    }
    states_[to].link = states_[added].link = static_cast<int64_t>(copy);
  }

  std::vector<State> states_;
  std::vector<bool> occurs_;  // by token: most tokens of a large text are not in a short one
  size_t last_ = 0;
};

constexpr uint64_t kBase = 0x9E3779B97F4A7C15ULL;  // odd: every power has an inverse

/// Hash of a window of `length` tokens that moves one token a time.
class RollingHash {
 public:
  explicit RollingHash(int64_t length) {
    for (int64_t i = 0; i < length; ++i) leaving_ *= kBase;
  }
  void add(uint32_t token) { value_ = value_ * kBase + spread(token); }
  void remove(uint32_t token) { value_ -= leaving_ * spread(token); }
  uint64_t value() const { return value_ ^ (value_ >> 29); }

 private:
  static uint64_t spread(uint32_t token) { return (token + 1ULL) * 0xD6E8FEB86659FD93ULL; }
  uint64_t value_ = 0;
  uint64_t leaving_ = 1;
};

/// The different windows of a text, which is at least as long as one, found by their hash.
class Windows {
 public:
  Windows(std::span<const uint32_t> text, int64_t length) : text_(text), length_(static_cast<size_t>(length)) {
    std::vector<Entry> entries;
    RollingHash hash(length);
    for (size_t i = 0; i < text.size(); ++i) {
      hash.add(text[i]);
      if (i >= length_) hash.remove(text[i - length_]);
      if (i + 1 >= length_) entries.push_back({hash.value(), i + 1 - length_});
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.hash != b.hash ? a.hash < b.hash : a.position < b.position;
    });
    group_.resize(entries.size());
    for (const Entry& entry : entries) group_[entry.position] = group_for(entry);
    filter_.assign(size_t{1} << kFilterBits, false);
    for (const Group& group : groups_) filter_[group.hash >> (64 - kFilterBits)] = true;
  }

  size_t unfound() const { return groups_.size() - found_; }
  bool is_found(size_t position) const { return groups_[group_[position]].found; }

  void look_up(uint64_t hash, std::span<const uint32_t> window) {
    if (!filter_[hash >> (64 - kFilterBits)]) return;
    auto at = std::lower_bound(groups_.begin(), groups_.end(), hash,
                               [](const Group& group, uint64_t value) { return group.hash < value; });
    for (; at != groups_.end() && at->hash == hash; ++at) {
      if (at->found ||
          !std::equal(window.begin(), window.end(), text_.begin() + static_cast<std::ptrdiff_t>(at->position)))
        continue;
      at->found = true;
      ++found_;
    }
  }

 private:
  static constexpr int kFilterBits = 20;
  struct Entry {
    uint64_t hash = 0;
    size_t position = 0;
  };
  struct Group {
    uint64_t hash = 0;
    size_t position = 0;  // of the first window with these tokens
    bool found = false;
  };

  /// Entries come in order of their hashes.
  size_t group_for(const Entry& entry) {
    const auto window = [&](size_t position) { return text_.subspan(position, length_); };
    for (size_t i = groups_.size(); i > 0 && groups_[i - 1].hash == entry.hash; --i) {
      if (std::ranges::equal(window(groups_[i - 1].position), window(entry.position))) return i - 1;
    }
    groups_.push_back({entry.hash, entry.position, false});
    return groups_.size() - 1;
  }

  std::span<const uint32_t> text_;
  size_t length_;
  std::vector<Group> groups_;  // by hash
  std::vector<size_t> group_;  // of each window of the text
  std::vector<bool> filter_;   // by the first bits of a hash
  size_t found_ = 0;
};

}  // namespace

CopiedRun longest_copied_run(std::span<const uint32_t> text, const TokenStream& training, int64_t most_searched) {
  CopiedRun best;
  if (text.empty()) return best;
  const SuffixAutomaton automaton(text);
  SuffixAutomaton::Match match;
  for_each_block(training, 0, most_searched, [&](int64_t begin, std::span<const uint32_t> tokens) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      automaton.feed(match, tokens[i]);
      if (match.length <= best.length) continue;
      best.length = match.length;
      best.begin = automaton.end_in_text(match) - match.length;
      best.training_begin = begin + static_cast<int64_t>(i) + 1 - match.length;
    }
    best.searched += static_cast<int64_t>(tokens.size());
    return best.length < static_cast<int64_t>(text.size());
  });
  return best;
}

std::vector<uint8_t> copied_tokens(std::span<const uint32_t> text, const TokenStream& training, int64_t least) {
  check(least >= 1, "copied text: runs of {} tokens; pass at least 1", least);
  std::vector<uint8_t> copied(text.size(), 0);
  const auto length = static_cast<size_t>(least);
  if (text.size() < length) return copied;
  Windows windows(text, least);
  for_each_block(training, least - 1, training.size(), [&](int64_t, std::span<const uint32_t> tokens) {
    RollingHash hash(least);
    for (size_t i = 0; i < tokens.size(); ++i) {
      hash.add(tokens[i]);
      if (i >= length) hash.remove(tokens[i - length]);
      if (i + 1 >= length) windows.look_up(hash.value(), tokens.subspan(i + 1 - length, length));
    }
    return windows.unfound() > 0;
  });
  size_t marked = 0;  // tokens up to here are done
  for (size_t begin = 0; begin + length <= text.size(); ++begin) {
    if (!windows.is_found(begin)) continue;
    for (size_t i = std::max(marked, begin); i < begin + length; ++i) copied[i] = 1;
    marked = begin + length;
  }
  return copied;
}

}  // namespace athanor::data
