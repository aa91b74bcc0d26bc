// All distinct pieces lie in one array as a linked list of tokens. Each pair knows where it occurs, so that a merge costs only its
// occurrences, even when one piece is a megabyte long. The heap is lazy: an entry whose count has sunk is put back when it surfaces.
#include "data/tokenizer_training.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/host.h"
#include "base/log.h"
#include "data/byte_alphabet.h"
#include "data/piece_counts.h"

namespace athanor::data {

namespace {

constexpr uint32_t kNowhere = UINT32_MAX;
constexpr uint32_t kGone = UINT32_MAX;  // the token of a place that was merged into the one before it

struct PairEntry {
  uint32_t left = 0;
  uint32_t right = 0;
  int64_t count = 0;
  std::vector<uint32_t> places;  // of the left token; some may be out of date, and then the tokens there differ
};

/// Finds the entry of a pair: a hash table with open addressing over a growing list.
class PairIndex {
 public:
  PairIndex() : slots_(1 << 16, kNowhere) {}

  uint32_t find_or_add(uint32_t left, uint32_t right) {
    size_t at = slot_of(left, right);
    for (; slots_[at] != kNowhere; at = (at + 1) & (slots_.size() - 1)) {
      const PairEntry& entry = entries_[slots_[at]];
      if (entry.left == left && entry.right == right) return slots_[at];
    }
    slots_[at] = static_cast<uint32_t>(entries_.size());
    entries_.push_back({left, right, 0, {}});
    if (entries_.size() * 2 > slots_.size()) grow();
    return static_cast<uint32_t>(entries_.size() - 1);
  }
  PairEntry& operator[](uint32_t index) { return entries_[index]; }
  size_t size() const { return entries_.size(); }

 private:
  size_t slot_of(uint32_t left, uint32_t right) const {
    const uint64_t key = (static_cast<uint64_t>(left) << 32 | right) * 0x9E3779B97F4A7C15u;
    return (key ^ key >> 32) & (slots_.size() - 1);
  }
  void grow() {
    slots_.assign(slots_.size() * 2, kNowhere);
    for (uint32_t i = 0; i < entries_.size(); ++i) {
      size_t at = slot_of(entries_[i].left, entries_[i].right);
      while (slots_[at] != kNowhere) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = i;
    }
  }

  std::vector<uint32_t> slots_;
  std::vector<PairEntry> entries_;
};

class Trainer {
 public:
  Trainer(const PieceCounts& pieces, const TokenizerTraining& options);

  TokenizerParts run();

 private:
  struct HeapEntry {
    int64_t count;
    uint32_t left;
    uint32_t right;
    uint32_t index;
    bool operator<(const HeapEntry& other) const {
      if (count != other.count) return count < other.count;
      if (left != other.left) return left > other.left;
      return right > other.right;
    }
  };

  void add_first_tokens();
  void lay_out_pieces();
  void count_pairs();
  /// False when the pair's text is that of a special token, which no merge may spell.
  bool merge(uint32_t index);
  void replace_at(uint32_t place, const PairEntry& pair, uint32_t result);
  void add_occurrence(uint32_t left, uint32_t right, uint32_t place, int64_t count);

  const PieceCounts& pieces_;
  const TokenizerTraining& options_;
  TokenizerParts parts_;
  std::unordered_map<std::string, uint32_t> token_ids_;  // by bytes, without the special tokens
  std::vector<uint32_t> tokens_;                         // by place
  std::vector<uint32_t> next_;
  std::vector<uint32_t> previous_;
  std::vector<uint32_t> piece_of_;
  PairIndex pairs_;
  std::priority_queue<HeapEntry> heap_;
  std::vector<uint32_t> touched_;  // pairs that gained occurrences in this merge
};

Trainer::Trainer(const PieceCounts& pieces, const TokenizerTraining& options) : pieces_(pieces), options_(options) {
  parts_.split = options.split;
  add_first_tokens();
  lay_out_pieces();
  count_pairs();
}

void Trainer::add_first_tokens() {
  for (const std::string& content : options_.special_tokens) {
    parts_.added.push_back({static_cast<uint32_t>(parts_.tokens.size()), content, true});
    parts_.tokens.push_back(content);
  }
  for (uint8_t byte : bytes_in_symbol_order()) {
    const auto id = static_cast<uint32_t>(parts_.tokens.size());
    parts_.byte_tokens[byte] = id;
    parts_.tokens.emplace_back(1, static_cast<char>(byte));
    token_ids_.emplace(parts_.tokens.back(), id);
  }
}

void Trainer::lay_out_pieces() {
  const size_t places = pieces_.bytes.size();
  check(places < kNowhere,
        "tokenizer train: the distinct pieces of the text hold {} bytes; at most 4 GiB are possible, use a sample",
        places);
  tokens_.resize(places);
  next_.resize(places);
  previous_.resize(places);
  piece_of_.resize(places);
  size_t place = 0;
  for (size_t piece = 0; piece < pieces_.size(); ++piece) {
    const size_t begin = place;
    for (; place < pieces_.ends[piece]; ++place) {
      tokens_[place] = parts_.byte_tokens[static_cast<uint8_t>(pieces_.bytes[place])];
      previous_[place] = place == begin ? kNowhere : static_cast<uint32_t>(place - 1);
      next_[place] = place + 1 == pieces_.ends[piece] ? kNowhere : static_cast<uint32_t>(place + 1);
      piece_of_[place] = static_cast<uint32_t>(piece);
    }
  }
}

void Trainer::count_pairs() {
  for (uint32_t place = 0; place < tokens_.size(); ++place) {
    if (next_[place] == kNowhere) continue;
    PairEntry& entry = pairs_[pairs_.find_or_add(tokens_[place], tokens_[next_[place]])];
    entry.count += pieces_.counts[piece_of_[place]];
    entry.places.push_back(place);
  }
  for (uint32_t i = 0; i < pairs_.size(); ++i) heap_.push({pairs_[i].count, pairs_[i].left, pairs_[i].right, i});
}

void Trainer::add_occurrence(uint32_t left, uint32_t right, uint32_t place, int64_t count) {
  const uint32_t index = pairs_.find_or_add(left, right);
  pairs_[index].count += count;
  pairs_[index].places.push_back(place);
  touched_.push_back(index);
}

void Trainer::replace_at(uint32_t place, const PairEntry& pair, uint32_t result) {
  const uint32_t second = next_[place];
  if (tokens_[place] != pair.left || second == kNowhere || tokens_[second] != pair.right) return;
  const int64_t count = pieces_.counts[piece_of_[place]];
  const uint32_t before = previous_[place];
  const uint32_t after = next_[second];
  tokens_[place] = result;
  tokens_[second] = kGone;
  next_[place] = after;
  if (before != kNowhere) {
    pairs_[pairs_.find_or_add(tokens_[before], pair.left)].count -= count;
    add_occurrence(tokens_[before], result, before, count);
  }
  if (after != kNowhere) {
    previous_[after] = place;
    pairs_[pairs_.find_or_add(pair.right, tokens_[after])].count -= count;
    add_occurrence(result, tokens_[after], place, count);
  }
}

bool Trainer::merge(uint32_t index) {
  // Taken out whole, since the list of pairs grows and moves below.
  PairEntry pair{pairs_[index].left, pairs_[index].right, 0, std::move(pairs_[index].places)};
  pairs_[index].places.clear();
  std::string bytes = parts_.tokens[pair.left] + parts_.tokens[pair.right];
  for (const AddedToken& added : parts_.added) {
    if (bytes_to_symbols(bytes) == added.content) return false;
  }
  // Two pairs may spell the same bytes; they share a token then, and the vocabulary does not grow.
  const auto [known, is_new] = token_ids_.try_emplace(bytes, static_cast<uint32_t>(parts_.tokens.size()));
  const uint32_t result = known->second;
  if (is_new) parts_.tokens.push_back(std::move(bytes));
  parts_.merges.push_back({pair.left, pair.right, result});

  if (!std::is_sorted(pair.places.begin(), pair.places.end())) std::sort(pair.places.begin(), pair.places.end());
  touched_.clear();
  for (uint32_t place : pair.places) replace_at(place, pair, result);
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  for (uint32_t i : touched_) {
    if (pairs_[i].count > 0) heap_.push({pairs_[i].count, pairs_[i].left, pairs_[i].right, i});
  }
  return true;
}

TokenizerParts Trainer::run() {
  const auto wanted = static_cast<size_t>(options_.vocab_size);
  const int64_t least = std::max<int64_t>(options_.min_frequency, 1);
  while (parts_.tokens.size() < wanted && !heap_.empty()) {
    const HeapEntry top = heap_.top();
    heap_.pop();
    const int64_t count = pairs_[top.index].count;
    if (count != top.count) {
      // The count sank since; an entry for a risen count is already in the heap.
      if (count >= least && count < top.count) heap_.push({count, top.left, top.right, top.index});
      continue;
    }
    if (count < least) break;
    if (merge(top.index)) pairs_[top.index].count = 0;
  }
  return std::move(parts_);
}

void check_options(const TokenizerTraining& options) {
  constexpr int kMostThreads = 1024;
  const auto first_tokens = static_cast<int64_t>(256 + options.special_tokens.size());
  check(options.vocab_size > first_tokens,
        "tokenizer train: a vocabulary of {} is too small; the 256 bytes and {} special tokens take {}, so ask for at "
        "least {}",
        options.vocab_size, options.special_tokens.size(), first_tokens, first_tokens + 1);
  check(options.vocab_size < (int64_t{1} << 31), "tokenizer train: a vocabulary of {} is too large",
        options.vocab_size);
  check(options.min_frequency >= 1, "tokenizer train: --min-frequency is {}; it must be at least 1",
        options.min_frequency);
  check(options.threads >= 0 && options.threads <= kMostThreads,
        "tokenizer train: --threads is {}; it must lie between 0 (all) and {}", options.threads, kMostThreads);
  std::unordered_set<std::string> seen;
  for (const std::string& content : options.special_tokens) {
    const std::optional<std::string> bytes = symbols_to_bytes(content);
    check(!content.empty() && seen.insert(content).second,
          "tokenizer train: the special token \"{}\" is empty or given twice", content);
    check(!bytes || bytes->size() != 1,
          "tokenizer train: the special token \"{}\" is the symbol of a byte; use a longer one", content);
  }
}

}  // namespace

Tokenizer train_tokenizer(const DocumentSource& documents, const TokenizerTraining& options) {
  check_options(options);
  const Splitter splitter(options.split);
  const PieceCounts pieces =
      count_pieces(documents, splitter, options.threads > 0 ? options.threads : available_threads());
  check(pieces.size() > 0, "tokenizer train: there is no text to train on");
  TokenizerParts parts = Trainer(pieces, options).run();
  const auto reached = static_cast<int64_t>(parts.tokens.size());
  if (reached < options.vocab_size) {
    log_warning("tokenizer train: the text is too small for a vocabulary of {}; it has {} entries", options.vocab_size,
                reached);
  }
  return Tokenizer(std::move(parts));
}

Tokenizer train_tokenizer(const std::vector<std::string>& texts, const TokenizerTraining& options) {
  size_t next = 0;
  return train_tokenizer(
      [&]() -> std::optional<std::string> {
        if (next == texts.size()) return std::nullopt;
        return texts[next++];
      },
      options);
}

}  // namespace athanor::data
