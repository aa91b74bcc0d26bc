// Each thread counts into a table of its own; the tables are joined at the end.
#include "data/piece_counts.h"

#include <deque>
#include <mutex>
#include <thread>

#include "base/error.h"

namespace athanor::data {

namespace {

/// A long document is shared between threads in parts of about this size.
constexpr size_t kPartBytes = 256 << 10;

/// Hash table from piece to count that keeps its keys in one string.
class CountTable {
 public:
  CountTable() : slots_(1 << 12) {}

  void add(std::string_view piece, int64_t count) {
    const uint64_t hash = std::hash<std::string_view>{}(piece);
    size_t at = hash & (slots_.size() - 1);
    while (slots_[at].count != 0) {
      if (slots_[at].hash == hash && key(slots_[at]) == piece) {
        slots_[at].count += count;
        return;
      }
      at = (at + 1) & (slots_.size() - 1);
    }
    slots_[at] = {hash, keys_.size(), piece.size(), count};
    keys_.append(piece);
    if (++used_ * 2 > slots_.size()) grow();
  }

  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.count != 0) visit(key(slot), slot.count);
    }
  }

 private:
  struct Slot {
    uint64_t hash = 0;
    size_t key_begin = 0;
    size_t key_size = 0;
    int64_t count = 0;
  };

  std::string_view key(const Slot& slot) const { return std::string_view(keys_).substr(slot.key_begin, slot.key_size); }

  void grow() {
    std::vector<Slot> larger(slots_.size() * 2);
    for (const Slot& slot : slots_) {
      if (slot.count == 0) continue;
      size_t at = slot.hash & (larger.size() - 1);
      while (larger[at].count != 0) at = (at + 1) & (larger.size() - 1);
      larger[at] = slot;
    }
    slots_.swap(larger);
  }

  std::vector<Slot> slots_;
  std::string keys_;
  size_t used_ = 0;
};

/// Hands out parts of documents that can be split on their own.
class PartQueue {
 public:
  explicit PartQueue(const DocumentSource& documents) : documents_(documents) {}

  struct Part {
    std::shared_ptr<const std::string> document;  // keeps the text alive
    std::string_view text;
  };

  std::optional<Part> next() {
    const std::lock_guard lock(mutex_);
    while (rest_.empty()) {
      std::optional<std::string> document = documents_();
      if (!document) return std::nullopt;
      document_ = std::make_shared<const std::string>(std::move(*document));
      rest_ = *document_;
    }
    const size_t cut = rest_.size() <= kPartBytes ? rest_.size() : Splitter::safe_cut(rest_, kPartBytes);
    Part part{document_, rest_.substr(0, cut)};
    rest_.remove_prefix(cut);
    return part;
  }

 private:
  const DocumentSource& documents_;
  std::mutex mutex_;
  std::shared_ptr<const std::string> document_;
  std::string_view rest_;
};

}  // namespace

PieceCounts count_pieces(const DocumentSource& documents, const Splitter& splitter, int threads) {
  PartQueue queue(documents);
  std::vector<CountTable> tables(static_cast<size_t>(std::max(threads, 1)));
  std::vector<std::exception_ptr> errors(tables.size());
  {
    std::vector<std::jthread> workers;
    for (size_t i = 0; i < tables.size(); ++i) {
      workers.emplace_back([&, i] {
        try {
          Splitter::Scratch scratch(splitter);
          while (const std::optional<PartQueue::Part> part = queue.next()) {
            splitter.split(part->text, scratch, [&](std::string_view piece) { tables[i].add(piece, 1); });
          }
        } catch (...) {
          errors[i] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  for (size_t i = 1; i < tables.size(); ++i) {
    tables[i].for_each([&](std::string_view piece, int64_t count) { tables[0].add(piece, count); });
    tables[i] = CountTable();
  }
  PieceCounts result;
  tables[0].for_each([&](std::string_view piece, int64_t count) {
    result.bytes.append(piece);
    result.ends.push_back(result.bytes.size());
    result.counts.push_back(count);
  });
  return result;
}

}  // namespace athanor::data
