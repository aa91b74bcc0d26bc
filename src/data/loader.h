// Batches for training and blocks for validation. What a batch holds is a function of seed, step and row alone: nothing is stored, so
// a resumed run reads on where it stopped.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "data/token_file.h"

namespace athanor::data {

/// Of a position that predicts nothing: kernels::kIgnoreTarget, PyTorch's.
inline constexpr int32_t kNoTarget = -100;

/// How the documents of a row stand to each other: each sees itself and the end of text before it, from which its first token is predicted,
/// or the row is one text. Without an end of text between them nothing predicts a document's first token.
enum class Packing { Documents, Naive };

/// "documents", "naive".
std::string_view name_of(Packing packing);
/// Throws Error for another name, listing those known.
Packing packing_from_name(std::string_view name);

/// rows × length tokens, row-major, and for each the token that follows it.
struct Batch {
  int64_t rows = 0;
  int64_t length = 0;
  std::vector<uint32_t> tokens;
  std::vector<int32_t> targets;
  /// Where in its row what each position sees starts: its document, with the end of text before it (0 for one begun before the row).
  /// Empty when packed naively.
  std::vector<uint32_t> first_keys;

  int64_t num_targets() const;
};

/// Stretches of a corpus read as if they lay one after the other.
class TokenStream {
 public:
  struct Stretch {
    int64_t begin = 0;
    int64_t end = 0;
  };

  TokenStream(TokenData data, std::vector<Stretch> stretches);

  int64_t size() const { return starts_.back(); }
  /// Tokens of the stream that lie before this token of the corpus.
  int64_t position_of(int64_t token) const;
  /// True for each position begin to begin + out.size() where a document starts, or what goes before was taken out.
  void document_starts(int64_t begin, std::vector<bool>& out) const;
  /// Copies tokens begin to begin + out.size(). Throws Error outside the stream.
  void read(int64_t begin, std::span<uint32_t> out) const;
  /// Adds the numbers of the documents that tokens begin to begin + count lie in.
  void add_documents(int64_t begin, int64_t count, std::set<int64_t>& found) const;

 private:
  TokenData data_;
  std::vector<Stretch> stretches_;
  std::vector<int64_t> starts_;  // of each stretch in the stream, and at last the size
};

/// A random order of 0 .. size - 1 that needs no table: Feistel rounds of Philox on the smallest even number of bits that holds
/// size, walked until the value is below size. Source: Black and Rogaway 2002, "Ciphers with arbitrary finite domains".
class Permutation {
 public:
  Permutation(int64_t size, uint64_t seed, uint64_t epoch);

  int64_t operator()(int64_t index) const;

 private:
  uint64_t size_;
  int half_bits_;
  std::array<uint32_t, 2> key_;
};

struct LoaderOptions {
  /// Tokens of a row (T); a block has one more, the target of the last.
  int64_t length = 0;
  uint64_t seed = 1;
  /// Share of the documents kept for validation, in [0, 1). Above 0 at least one block is kept. Ignored when `validation` is given.
  double validation_split = 0.0;
  std::optional<TokenData> validation{};
  Packing packing = Packing::Documents;
  std::optional<uint32_t> end_of_text{};  // the token that closes a document
  /// Of the data's sources, in their order: their shares of the rows. Empty: every row as often as any other.
  std::vector<double> weights{};
};

class Loader {
 public:
  /// Validation gets whole documents drawn by the seed; where that cannot give a block, or would take more than half of the text, it
  /// gets the end of the text. Throws Error, with the numbers, when a part is shorter than one block.
  Loader(const TokenData& data, const LoaderOptions& options);

  /// Rows of a step: windows in the random order of their epoch, which covers every window once. Windows do not overlap and begin at an
  /// offset drawn anew for each epoch. With weights each source has epochs of its own, and of each cycle of rows (at most 1024) as many
  /// are of a source as its weight says. `rows` is the whole step's (all micro-batches and ranks).
  Batch batch(int64_t step, int64_t rows) const { return batch(step, rows, 0, rows); }
  /// Only rows first_row to first_row + count of the step.
  Batch batch(int64_t step, int64_t rows, int64_t first_row, int64_t count) const;

  /// Numbers of the documents that the rows of a step lie in, rising: for messages about the step.
  std::vector<int64_t> documents(int64_t step, int64_t rows) const;

  int64_t length() const { return length_; }
  /// Of all sources together.
  int64_t windows_per_epoch() const;
  /// How often `rows` rows go through each source; one number without weights.
  std::vector<double> epochs_of(int64_t rows) const;
  /// Decides which rows come when, together with seed and tokens: a resumed run compares it.
  std::string order_name(int64_t rows_of_step) const;
  int64_t train_tokens() const { return train_.size(); }

  bool has_validation() const { return validation_.has_value(); }
  int64_t validation_tokens() const { return has_validation() ? validation_->size() : 0; }
  /// Blocks that follow one another without overlap in what is predicted.
  int64_t validation_blocks() const;
  /// Blocks first_block to first_block + rows. Throws Error outside validation_blocks().
  Batch validation_batch(int64_t first_block, int64_t rows) const;

  const TokenStream& train_stream() const { return train_; }
  /// Throws Error when there is none.
  const TokenStream& validation_stream() const;

 private:
  /// What has an order of its own: all of the training text, or with weights one source.
  struct Region {
    int64_t begin = 0;  // in train_
    int64_t size = 0;
    int64_t windows = 0;
    int64_t share = 1;  // rows of a cycle
  };

  void add_regions(const TokenData& data, const std::vector<double>& weights);
  int64_t begin_of_sample(int64_t sample) const;
  Batch empty_batch(int64_t rows) const;
  void copy_row(const TokenStream& stream, int64_t begin, int64_t row, Batch& batch) const;

  int64_t length_;
  uint64_t seed_;
  Packing packing_;
  std::optional<uint32_t> end_of_text_;
  TokenStream train_;
  std::optional<TokenStream> validation_;
  std::vector<Region> regions_;
  int64_t cycle_ = 1;
};

/// Cross-entropy, in nats a token, of the validation tokens under the counts of the training tokens, one added to each:
/// what a model reaches that knows only how frequent tokens are. Every model must beat it. Of a longer text, 2^26 tokens in chunks evenly
/// spaced are counted.
double unigram_loss(const TokenStream& train, const TokenStream& validation, int64_t vocab_size);

}  // namespace athanor::data
