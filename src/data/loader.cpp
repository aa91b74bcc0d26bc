// The validation split, the windows of an epoch, and the order in which they come.
#include "data/loader.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/random.h"

namespace athanor::data {

namespace {

using Stretch = TokenStream::Stretch;

constexpr int kFeistelRounds = 6;
constexpr uint32_t kOffsetWord = 1;  // parts the numbers of offsets from those of orders

struct Division {
  std::vector<Stretch> train;
  std::vector<Stretch> validation;
};

/// Joins neighbours, so that reading meets as few stretches as can be.
void append(std::vector<Stretch>& stretches, Stretch added) {
  if (!stretches.empty() && stretches.back().end == added.begin) {
    stretches.back().end = added.end;
  } else {
    stretches.push_back(added);
  }
}

Division divide_at_end(const TokenData& data, int64_t block, double share) {
  const int64_t all = data.num_tokens();
  const int64_t kept = std::max(block, static_cast<int64_t>(std::llround(share * static_cast<double>(all))));
  check(all >= kept + block,
        "loader: the text has {} tokens; training and validation need a block of {} tokens each, so give more text or "
        "a smaller "
        "max_length",
        all, block);
  return {{{0, all - kept}}, {{all - kept, all}}};
}

/// Takes documents in random order until their number and one block are reached, leaving out those that would take half of the text.
Division divide(const TokenData& data, int64_t block, double share, uint64_t seed) {
  const std::span<const uint64_t> offsets = data.documents();
  const int64_t documents = data.num_documents();
  const auto size_of_document = [&](int64_t i) { return static_cast<int64_t>(offsets[i + 1] - offsets[i]); };
  std::vector<int64_t> order(static_cast<size_t>(documents));
  std::iota(order.begin(), order.end(), 0);
  Random random(seed, RandomStream::Split);
  for (int64_t i = documents - 1; i > 0; --i) std::swap(order[i], order[random.below(static_cast<uint64_t>(i) + 1)]);

  const int64_t wanted = std::max<int64_t>(1, std::llround(share * static_cast<double>(documents)));
  std::vector<bool> taken(static_cast<size_t>(documents), false);
  int64_t taken_documents = 0;
  int64_t taken_tokens = 0;
  for (int64_t i : order) {
    if (taken_documents >= wanted && taken_tokens >= block) break;
    if ((taken_tokens + size_of_document(i)) * 2 > data.num_tokens()) continue;
    taken[i] = true;
    ++taken_documents;
    taken_tokens += size_of_document(i);
  }
  if (taken_tokens < block || data.num_tokens() - taken_tokens < block) return divide_at_end(data, block, share);
  Division division;
  for (int64_t i = 0; i < documents; ++i) {
    append(taken[i] ? division.validation : division.train,
           {static_cast<int64_t>(offsets[i]), static_cast<int64_t>(offsets[i + 1])});
  }
  return division;
}

Division divide_as_asked(const TokenData& data, const LoaderOptions& options) {
  check(options.length > 0, "loader: a row of {} tokens was asked; max_length must be at least 1", options.length);
  check(options.validation_split >= 0.0 && options.validation_split < 1.0,
        "loader: validation_split is {}; it must be at least 0 and below 1", options.validation_split);
  const int64_t block = options.length + 1;
  check(data.num_tokens() >= block,
        "loader: the text has {} tokens, but one block takes {} (max_length {} and one to predict); give more text or "
        "a smaller max_length",
        data.num_tokens(), block, options.length);
  if (options.validation) {
    check(options.validation->num_tokens() >= block,
          "loader: the validation text has {} tokens, but one block takes {}; give more text or a smaller max_length",
          options.validation->num_tokens(), block);
    check(options.validation->vocab_size() <= data.vocab_size(),
          "loader: the validation text has a vocabulary of {}, the training text one of {}; prepare both with the same "
          "tokenizer",
          options.validation->vocab_size(), data.vocab_size());
  }
  if (options.validation || options.validation_split == 0.0) return {{{0, data.num_tokens()}}, {}};
  return divide(data, block, options.validation_split, options.seed);
}

}  // namespace

TokenStream::TokenStream(TokenData data, std::vector<Stretch> stretches)
    : data_(std::move(data)), stretches_(std::move(stretches)) {
  starts_.push_back(0);
  for (const Stretch& stretch : stretches_) starts_.push_back(starts_.back() + stretch.end - stretch.begin);
}

void TokenStream::read(int64_t begin, std::span<uint32_t> out) const {
  const auto count = static_cast<int64_t>(out.size());
  check(begin >= 0 && count <= size() && begin <= size() - count, "loader: {} tokens from {} were asked of {}", count,
        begin, size());
  size_t at = static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), begin) - starts_.begin()) - 1;
  while (!out.empty()) {
    const int64_t within = begin - starts_[at];
    const auto part = static_cast<size_t>(std::min<int64_t>(starts_[at + 1] - begin, static_cast<int64_t>(out.size())));
    data_.read(stretches_[at].begin + within, out.first(part));
    out = out.subspan(part);
    begin += static_cast<int64_t>(part);
    ++at;
  }
}

void TokenStream::add_documents(int64_t begin, int64_t count, std::set<int64_t>& found) const {
  const std::span<const uint64_t> offsets = data_.documents();
  for (size_t at = 0; at < stretches_.size(); ++at) {
    const int64_t from = std::max(begin, starts_[at]);
    const int64_t to = std::min(begin + count, starts_[at + 1]);
    if (from >= to) continue;
    const auto first = static_cast<uint64_t>(stretches_[at].begin + from - starts_[at]);
    const uint64_t end = first + static_cast<uint64_t>(to - from);
    const auto after = std::upper_bound(offsets.begin(), offsets.end(), first);
    for (auto document = after - offsets.begin() - 1; document < data_.num_documents() && offsets[document] < end;
         ++document)
      found.insert(document);
  }
}

Permutation::Permutation(int64_t size, uint64_t seed, uint64_t epoch) : size_(static_cast<uint64_t>(size)) {
  check(size > 0, "loader: an order of {} windows was asked", size);
  half_bits_ = std::max<int>(1, static_cast<int>(std::bit_width(size_ - 1) + 1) / 2);
  Random random(seed, RandomStream::Shuffle, epoch);
  key_ = {random.next_u32(), random.next_u32()};
}

int64_t Permutation::operator()(int64_t index) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  auto value = static_cast<uint64_t>(index);
  do {
    uint64_t left = value >> half_bits_;
    uint64_t right = value & mask;
    for (uint32_t round = 0; round < kFeistelRounds; ++round) {
      const std::array<uint32_t, 4> mixed =
          philox4x32({static_cast<uint32_t>(right), static_cast<uint32_t>(right >> 32), round, 0}, key_);
      left = std::exchange(right, left ^ ((mixed[0] | uint64_t{mixed[1]} << 32) & mask));
    }
    value = left << half_bits_ | right;
  } while (value >= size_);
  return static_cast<int64_t>(value);
}

Loader::Loader(const TokenData& data, const LoaderOptions& options)
    : length_(options.length), seed_(options.seed), train_(data, {}) {
  Division division = divide_as_asked(data, options);
  train_ = TokenStream(data, std::move(division.train));
  if (options.validation) {
    validation_.emplace(*options.validation, std::vector<Stretch>{{0, options.validation->num_tokens()}});
  } else if (!division.validation.empty()) {
    validation_.emplace(data, std::move(division.validation));
  }
  // The number of windows must not depend on the epoch's offset, so the largest offset leaves room for all of them.
  windows_ = std::max<int64_t>(1, (train_.size() - length_) / length_);
}

void Loader::copy_row(const TokenStream& stream, int64_t begin, int64_t row, Batch& batch) const {
  std::vector<uint32_t> block(static_cast<size_t>(length_) + 1);
  stream.read(begin, block);
  std::copy(block.begin(), block.end() - 1, batch.tokens.begin() + row * length_);
  std::copy(block.begin() + 1, block.end(), batch.targets.begin() + row * length_);
}

Batch Loader::batch(int64_t step, int64_t rows, int64_t first_row, int64_t count) const {
  check(step >= 0 && first_row >= 0 && count >= 0 && first_row + count <= rows,
        "loader: rows {} to {} were asked of {} of step {}", first_row, first_row + count, rows, step);
  Batch made{count, length_, {}, {}};
  made.tokens.resize(static_cast<size_t>(count * length_));
  made.targets.resize(made.tokens.size());
  for (int64_t row = 0; row < count; ++row) {
    copy_row(train_, window_begin(step * rows + first_row + row), row, made);
  }
  return made;
}

int64_t Loader::window_begin(int64_t sample) const {
  const int64_t epoch = sample / windows_;
  const int64_t largest_offset = std::min(length_ - 1, train_.size() - 1 - windows_ * length_);
  Random random(seed_, RandomStream::Shuffle, static_cast<uint64_t>(epoch), kOffsetWord);
  const auto offset = static_cast<int64_t>(random.below(static_cast<uint64_t>(largest_offset) + 1));
  const Permutation order(windows_, seed_, static_cast<uint64_t>(epoch));
  return offset + order(sample % windows_) * length_;
}

std::vector<int64_t> Loader::documents(int64_t step, int64_t rows) const {
  std::set<int64_t> found;
  for (int64_t row = 0; row < rows; ++row) train_.add_documents(window_begin(step * rows + row), length_ + 1, found);
  return {found.begin(), found.end()};
}

int64_t Loader::validation_blocks() const { return has_validation() ? (validation_->size() - 1) / length_ : 0; }

Batch Loader::validation_batch(int64_t first_block, int64_t rows) const {
  check(first_block >= 0 && rows >= 0 && first_block + rows <= validation_blocks(),
        "loader: validation blocks {} to {} were asked of {}", first_block, first_block + rows, validation_blocks());
  Batch made{rows, length_, {}, {}};
  made.tokens.resize(static_cast<size_t>(rows * length_));
  made.targets.resize(made.tokens.size());
  for (int64_t row = 0; row < rows; ++row) copy_row(*validation_, (first_block + row) * length_, row, made);
  return made;
}

const TokenStream& Loader::validation_stream() const {
  check(has_validation(), "loader: there is no validation text; set validation_split or validation_data");
  return *validation_;
}

double unigram_loss(const TokenStream& train, const TokenStream& validation, int64_t vocab_size) {
  check(vocab_size > 0 && validation.size() > 0, "unigram loss: no vocabulary or no tokens");
  constexpr static int64_t kChunk = 1 << 16;
  const auto count_tokens = [vocab_size](const TokenStream& stream) {
    std::vector<int64_t> counts(static_cast<size_t>(vocab_size), 0);
    std::vector<uint32_t> chunk;
    for (int64_t begin = 0; begin < stream.size(); begin += kChunk) {
      chunk.resize(static_cast<size_t>(std::min(kChunk, stream.size() - begin)));
      stream.read(begin, chunk);
      for (uint32_t id : chunk) {
        check(id < counts.size(), "unigram loss: the id {} is outside the vocabulary of {}", id, counts.size());
        ++counts[id];
      }
    }
    return counts;
  };
  const std::vector<int64_t> seen = count_tokens(train);
  const std::vector<int64_t> asked = count_tokens(validation);
  const double log_total = std::log(static_cast<double>(train.size() + vocab_size));
  double loss = 0;
  for (size_t id = 0; id < seen.size(); ++id) {
    if (asked[id] > 0)
      loss += static_cast<double>(asked[id]) * (log_total - std::log(static_cast<double>(seen[id] + 1)));
  }
  return loss / static_cast<double>(validation.size());
}

}  // namespace athanor::data
