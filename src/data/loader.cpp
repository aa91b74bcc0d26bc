// The validation split, the windows of an epoch, and the order in which they come.
#include "data/loader.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/random.h"

namespace athanor::data {

namespace {

using Stretch = TokenStream::Stretch;

constexpr int kFeistelRounds = 6;
constexpr uint32_t kOffsetWord = 1;                 // parts the numbers of offsets from those of orders
constexpr uint64_t kCycleWord = uint64_t{1} << 62;  // and those of cycles, and of the split, from those of epochs
constexpr uint64_t kSplitWord = uint64_t{2} << 62;
constexpr uint64_t kSourceWord = uint64_t{1} << 40;  // a source's epochs from another's
constexpr int64_t kMostCycle = 1024;
// Raised when rows come in another order from the same settings, seed and tokens.
constexpr int kOrderVersion = 3;

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
/// The order needs no table, and what is kept is as long as the validation documents are many.
Division divide(const TokenData& data, int64_t block, double share, uint64_t seed) {
  const DocumentOffsets offsets = data.documents();
  const int64_t documents = data.num_documents();
  const Permutation order(documents, seed, kSplitWord);
  const int64_t wanted = std::max<int64_t>(1, std::llround(share * static_cast<double>(documents)));
  std::vector<int64_t> taken;
  int64_t taken_tokens = 0;
  for (int64_t i = 0; i < documents; ++i) {
    if (static_cast<int64_t>(taken.size()) >= wanted && taken_tokens >= block) break;
    const int64_t document = order(i);
    const auto tokens = static_cast<int64_t>(offsets[document + 1] - offsets[document]);
    if ((taken_tokens + tokens) * 2 > data.num_tokens()) continue;
    taken.push_back(document);
    taken_tokens += tokens;
  }
  if (taken_tokens < block || data.num_tokens() - taken_tokens < block) return divide_at_end(data, block, share);
  std::sort(taken.begin(), taken.end());
  Division division;
  int64_t reached = 0;
  for (const int64_t document : taken) {
    const auto begin = static_cast<int64_t>(offsets[document]);
    const auto end = static_cast<int64_t>(offsets[document + 1]);
    if (begin > reached) append(division.train, {reached, begin});
    append(division.validation, {begin, end});
    reached = end;
  }
  if (reached < data.num_tokens()) append(division.train, {reached, data.num_tokens()});
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

/// Weights as rows of a cycle: as they are where they are whole and few, else to a thousandth of the cycle.
std::vector<int64_t> shares_of(const std::vector<double>& weights, const std::vector<TokenSource>& sources) {
  double sum = 0;
  bool are_whole = true;
  for (const double weight : weights) {
    check(std::isfinite(weight) && weight > 0, "loader: a weight of {} was given; weights must lie above 0", weight);
    sum += weight;
    are_whole = are_whole && weight == std::floor(weight);
  }
  const double scale = are_whole && sum <= kMostCycle ? 1 : static_cast<double>(kMostCycle) / sum;
  std::vector<int64_t> shares;
  for (size_t i = 0; i < weights.size(); ++i) {
    shares.push_back(std::llround(weights[i] * scale));
    check(shares.back() > 0, "loader: the weight {} of {} is less than a {}th of all weights; leave it out or raise it",
          weights[i], sources[i].name, 2 * kMostCycle);
  }
  return shares;
}

}  // namespace

std::string_view name_of(Packing packing) { return packing == Packing::Documents ? "documents" : "naive"; }

Packing packing_from_name(std::string_view name) {
  for (const Packing packing : {Packing::Documents, Packing::Naive}) {
    if (name == name_of(packing)) return packing;
  }
  fail("packing is \"{}\"; known are documents (each sees itself alone) and naive", name);
}

int64_t Batch::num_targets() const {
  return static_cast<int64_t>(targets.size()) - std::count(targets.begin(), targets.end(), kNoTarget);
}

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

int64_t TokenStream::position_of(int64_t token) const {
  for (size_t i = 0; i < stretches_.size(); ++i) {
    if (token < stretches_[i].end) return starts_[i] + std::max<int64_t>(0, token - stretches_[i].begin);
  }
  return size();
}

void TokenStream::document_starts(int64_t begin, std::vector<bool>& out) const {
  const auto count = static_cast<int64_t>(out.size());
  check(begin >= 0 && count <= size() && begin <= size() - count, "loader: {} tokens from {} were asked of {}", count,
        begin, size());
  out.assign(out.size(), false);
  if (count == 0) return;
  const DocumentOffsets offsets = data_.documents();
  size_t at = static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), begin) - starts_.begin()) - 1;
  for (int64_t position = begin; position < begin + count; ++at) {
    const int64_t first = stretches_[at].begin + position - starts_[at];
    const int64_t last = std::min(stretches_[at].end, first + begin + count - position);  // one behind it
    if (position == starts_[at]) out[static_cast<size_t>(position - begin)] = true;
    int64_t document = data_.document_at(first);
    if (offsets[document] < static_cast<uint64_t>(first)) ++document;
    for (; document < data_.num_documents() && offsets[document] < static_cast<uint64_t>(last); ++document) {
      out[static_cast<size_t>(position - begin + static_cast<int64_t>(offsets[document]) - first)] = true;
    }
    position += last - first;
  }
}

void TokenStream::add_documents(int64_t begin, int64_t count, std::set<int64_t>& found) const {
  const DocumentOffsets offsets = data_.documents();
  for (size_t at = 0; at < stretches_.size(); ++at) {
    const int64_t from = std::max(begin, starts_[at]);
    const int64_t to = std::min(begin + count, starts_[at + 1]);
    if (from >= to) continue;
    const int64_t first = stretches_[at].begin + from - starts_[at];
    const auto end = static_cast<uint64_t>(first + to - from);
    for (int64_t document = data_.document_at(first); document < data_.num_documents() && offsets[document] < end;
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
    : length_(options.length),
      seed_(options.seed),
      packing_(options.packing),
      end_of_text_(options.end_of_text),
      train_(data, {}) {
  Division division = divide_as_asked(data, options);
  train_ = TokenStream(data, std::move(division.train));
  if (options.validation) {
    validation_.emplace(*options.validation, std::vector<Stretch>{{0, options.validation->num_tokens()}});
  } else if (!division.validation.empty()) {
    validation_.emplace(data, std::move(division.validation));
  }
  add_regions(data, options.weights);
}

void Loader::add_regions(const TokenData& data, const std::vector<double>& weights) {
  const auto region = [this](int64_t begin, int64_t end, int64_t share) {
    // The number of windows must not depend on the epoch's offset, so the largest offset leaves room for all of them.
    return Region{begin, end - begin, std::max<int64_t>(1, (end - begin - length_) / length_), share};
  };
  if (weights.empty()) {
    regions_.push_back(region(0, train_.size(), 1));
    return;
  }
  const std::vector<TokenSource>& sources = data.sources();
  check(weights.size() == sources.size(), "loader: {} weights were given for {} source{}; give one a source",
        weights.size(), sources.size(), sources.size() == 1 ? "" : "s");
  const std::vector<int64_t> shares = shares_of(weights, sources);
  cycle_ = std::accumulate(shares.begin(), shares.end(), int64_t{0});
  int64_t document = 0;
  for (size_t i = 0; i < sources.size(); ++i) {
    const int64_t begin = train_.position_of(static_cast<int64_t>(data.documents()[document]));
    document += sources[i].documents;
    const int64_t end = train_.position_of(static_cast<int64_t>(data.documents()[document]));
    check(end - begin > length_,
          "loader: {} has {} tokens for training, but one block takes {}; give it more text, a "
          "smaller max_length, or no weight",
          sources[i].name, end - begin, length_ + 1);
    regions_.push_back(region(begin, end, shares[i]));
  }
}

int64_t Loader::windows_per_epoch() const {
  int64_t windows = 0;
  for (const Region& region : regions_) windows += region.windows;
  return windows;
}

std::vector<double> Loader::epochs_of(int64_t rows) const {
  std::vector<double> epochs;
  for (const Region& region : regions_) {
    const double share = static_cast<double>(region.share) / static_cast<double>(cycle_);
    epochs.push_back(static_cast<double>(rows) * share / static_cast<double>(region.windows));
  }
  return epochs;
}

std::string Loader::order_name(int64_t rows_of_step) const {
  std::string name = fmt::format("order {}, {} rows of {} tokens a step, packing {}", kOrderVersion, rows_of_step,
                                 length_, name_of(packing_));
  if (regions_.size() > 1) {
    name += ", weights";
    for (const Region& region : regions_) name += fmt::format(" {}", region.share);
  }
  return name;
}

int64_t Loader::begin_of_sample(int64_t sample) const {
  size_t source = 0;
  if (regions_.size() > 1) {
    // Its place in the shuffled cycle says of which source it is, and which of that source's rows in the cycle.
    const int64_t cycle = sample / cycle_;
    int64_t place = Permutation(cycle_, seed_, kCycleWord + static_cast<uint64_t>(cycle))(sample % cycle_);
    while (place >= regions_[source].share) place -= regions_[source++].share;
    sample = cycle * regions_[source].share + place;
  }
  const Region& region = regions_[source];
  const uint64_t epoch = kSourceWord * source + static_cast<uint64_t>(sample / region.windows);
  const int64_t largest_offset = std::min(length_ - 1, region.size - 1 - region.windows * length_);
  Random random(seed_, RandomStream::Shuffle, epoch, kOffsetWord);
  const auto offset = static_cast<int64_t>(random.below(static_cast<uint64_t>(largest_offset) + 1));
  return region.begin + offset + Permutation(region.windows, seed_, epoch)(sample % region.windows) * length_;
}

Batch Loader::empty_batch(int64_t rows) const {
  Batch made{rows, length_, {}, {}, {}};
  made.tokens.resize(static_cast<size_t>(rows * length_));
  made.targets.resize(made.tokens.size());
  if (packing_ == Packing::Documents) made.first_keys.resize(made.tokens.size());
  return made;
}

void Loader::copy_row(const TokenStream& stream, int64_t begin, int64_t row, Batch& batch) const {
  std::vector<uint32_t> block(static_cast<size_t>(length_) + 1);
  stream.read(begin, block);
  const int64_t at = row * length_;
  std::copy(block.begin(), block.end() - 1, batch.tokens.begin() + at);
  std::copy(block.begin() + 1, block.end(), batch.targets.begin() + at);
  if (packing_ == Packing::Naive) return;
  std::vector<bool> starts(block.size());
  stream.document_starts(begin, starts);
  uint32_t first_key = 0;
  for (int64_t i = 0; i < length_; ++i) {
    const auto place = static_cast<size_t>(i);
    const bool ends = starts[place + 1];  // the token behind it is the first of a document
    const bool begins = ends && block[place] == end_of_text_;
    if (begins || (starts[place] && (i == 0 || block[place - 1] != end_of_text_))) first_key = static_cast<uint32_t>(i);
    batch.first_keys[static_cast<size_t>(at + i)] = first_key;
    if (ends && !begins) batch.targets[static_cast<size_t>(at + i)] = kNoTarget;
  }
}

Batch Loader::batch(int64_t step, int64_t rows, int64_t first_row, int64_t count) const {
  check(step >= 0 && first_row >= 0 && count >= 0 && first_row + count <= rows,
        "loader: rows {} to {} were asked of {} of step {}", first_row, first_row + count, rows, step);
  Batch made = empty_batch(count);
  for (int64_t row = 0; row < count; ++row) copy_row(train_, begin_of_sample(step * rows + first_row + row), row, made);
  return made;
}

std::vector<int64_t> Loader::documents(int64_t step, int64_t rows) const {
  std::set<int64_t> found;
  for (int64_t row = 0; row < rows; ++row) train_.add_documents(begin_of_sample(step * rows + row), length_ + 1, found);
  return {found.begin(), found.end()};
}

int64_t Loader::validation_blocks() const { return has_validation() ? (validation_->size() - 1) / length_ : 0; }

Batch Loader::validation_batch(int64_t first_block, int64_t rows) const {
  check(first_block >= 0 && rows >= 0 && first_block + rows <= validation_blocks(),
        "loader: validation blocks {} to {} were asked of {}", first_block, first_block + rows, validation_blocks());
  Batch made = empty_batch(rows);
  for (int64_t row = 0; row < rows; ++row) copy_row(*validation_, (first_block + row) * length_, row, made);
  return made;
}

const TokenStream& Loader::validation_stream() const {
  check(has_validation(), "loader: there is no validation text; set validation_split or validation_data");
  return *validation_;
}

namespace {

struct TokenCounts {
  std::vector<int64_t> of_id;
  int64_t all = 0;
};

TokenCounts count_tokens(const TokenStream& stream, int64_t vocab_size) {
  constexpr int64_t kChunk = 1 << 16;
  constexpr int64_t kMostChunks = 1 << 10;
  TokenCounts counts{std::vector<int64_t>(static_cast<size_t>(vocab_size), 0), 0};
  const int64_t chunks = (stream.size() + kChunk - 1) / kChunk;
  const int64_t read = std::min(chunks, kMostChunks);
  std::vector<uint32_t> chunk;
  for (int64_t i = 0; i < read; ++i) {
    const int64_t begin = i * chunks / read * kChunk;
    chunk.resize(static_cast<size_t>(std::min(kChunk, stream.size() - begin)));
    stream.read(begin, chunk);
    for (uint32_t id : chunk) {
      check(id < counts.of_id.size(), "unigram loss: the id {} is outside the vocabulary of {}", id,
            counts.of_id.size());
      ++counts.of_id[id];
    }
    counts.all += static_cast<int64_t>(chunk.size());
  }
  return counts;
}

}  // namespace

double unigram_loss(const TokenStream& train, const TokenStream& validation, int64_t vocab_size) {
  check(vocab_size > 0 && validation.size() > 0, "unigram loss: no vocabulary or no tokens");
  const TokenCounts seen = count_tokens(train, vocab_size);
  const TokenCounts asked = count_tokens(validation, vocab_size);
  const double log_total = std::log(static_cast<double>(seen.all + vocab_size));
  double loss = 0;
  for (size_t id = 0; id < seen.of_id.size(); ++id) {
    if (asked.of_id[id] > 0)
      loss += static_cast<double>(asked.of_id[id]) * (log_total - std::log(static_cast<double>(seen.of_id[id] + 1)));
  }
  return loss / static_cast<double>(asked.all);
}

}  // namespace athanor::data
