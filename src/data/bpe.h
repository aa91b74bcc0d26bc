// Byte-pair merging of one piece of text: the pair that was merged earliest in training is merged first, leftmost first among
// equals. Time is O(n log n) in the length of the piece.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::data {

/// What two neighbouring tokens become.
struct BpeMerge {
  uint32_t left = 0;
  uint32_t right = 0;
  uint32_t result = 0;
};

/// Finds the merge of a pair: a hash table with open addressing, filled once.
class MergeTable {
 public:
  struct Found {
    uint32_t rank;
    uint32_t result;
  };
  static constexpr uint32_t kNoMerge = UINT32_MAX;

  MergeTable() = default;
  /// A merge's rank is its place in the list; of a doubled pair the first counts.
  explicit MergeTable(const std::vector<BpeMerge>& merges);

  /// rank is kNoMerge when the pair does not merge.
  Found find(uint32_t left, uint32_t right) const;

 private:
  struct Slot {
    uint64_t pair = 0;
    uint32_t rank = kNoMerge;
    uint32_t result = 0;
  };
  std::vector<Slot> slots_;
  uint64_t mask_ = 0;
};

/// Memory that merging works in, to be kept from call to call.
struct BpeScratch {
  struct Part {
    uint32_t token;
    uint32_t rank;    // of the merge with the next part
    uint32_t result;  // of that merge
  };
  struct Symbol {
    uint32_t token;
    int32_t previous;
    int32_t next;
  };
  struct Candidate {
    uint32_t rank;
    int32_t left;
    uint32_t left_token;
    uint32_t right_token;
    uint32_t result;
  };
  std::vector<Part> parts;
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
};

/// Appends the tokens of one piece. byte_tokens gives the token of each byte.
void bpe_encode(std::string_view piece, const std::array<uint32_t, 256>& byte_tokens, const MergeTable& merges,
                BpeScratch& scratch, std::vector<uint32_t>& out);

/// Remembers the tokens of pieces seen before; forgets all when it is full. Belongs to one thread at a time.
class PieceCache {
 public:
  PieceCache();

  /// True, with the tokens appended, when the piece is known.
  bool find(std::string_view piece, std::vector<uint32_t>& out) const;
  void insert(std::string_view piece, const uint32_t* tokens, size_t count);

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t key_begin = 0;
    uint32_t tokens_begin = 0;
    uint16_t key_size = 0;  // 0 marks an empty slot
    uint16_t num_tokens = 0;
  };
  std::vector<Slot> slots_;
  std::string keys_;
  std::vector<uint32_t> tokens_;
  size_t used_ = 0;
};

}  // namespace athanor::data
