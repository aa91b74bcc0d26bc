// Short pieces are merged by scanning an array, which beats any heap below a hundred bytes; long ones by a heap over a linked list.
#include "data/bpe.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/error.h"

namespace athanor::data {

namespace {

constexpr size_t kLongestScanned = 96;
constexpr size_t kLongestPiece = INT32_MAX;  // places in the linked list are 32 bits
constexpr size_t kCacheSlots = 1 << 17;
constexpr size_t kMostCached = kCacheSlots / 2;
constexpr size_t kLongestCached = 128;

uint64_t pair_key(uint32_t left, uint32_t right) { return static_cast<uint64_t>(left) << 32 | right; }

uint64_t mix(uint64_t key) {
  key *= 0x9E3779B97F4A7C15u;
  return key ^ key >> 32;
}

void encode_short(BpeScratch& scratch, const MergeTable& merges, std::vector<uint32_t>& out) {
  std::vector<BpeScratch::Part>& parts = scratch.parts;
  const auto look_up = [&](size_t i) {
    const MergeTable::Found found = i + 1 < parts.size() ? merges.find(parts[i].token, parts[i + 1].token)
                                                         : MergeTable::Found{MergeTable::kNoMerge, 0};
    parts[i].rank = found.rank;
    parts[i].result = found.result;
  };
  for (size_t i = 0; i < parts.size(); ++i) look_up(i);
  for (;;) {
    size_t best = 0;
    for (size_t i = 1; i < parts.size(); ++i) {
      if (parts[i].rank < parts[best].rank) best = i;
    }
    if (parts[best].rank == MergeTable::kNoMerge) break;
    parts[best].token = parts[best].result;
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    look_up(best);
    if (best > 0) look_up(best - 1);
  }
  for (const BpeScratch::Part& part : parts) out.push_back(part.token);
}

void encode_long(std::string_view piece, const std::array<uint32_t, 256>& byte_tokens, const MergeTable& merges,
                 BpeScratch& scratch, std::vector<uint32_t>& out) {
  check(piece.size() < kLongestPiece,
        "tokenizer: a piece of {} bytes without a place to split; at most 2 GiB are possible", piece.size());
  std::vector<BpeScratch::Symbol>& symbols = scratch.symbols;
  std::vector<BpeScratch::Candidate>& heap = scratch.heap;
  const auto count = static_cast<int32_t>(piece.size());
  symbols.resize(piece.size());
  heap.clear();
  for (int32_t i = 0; i < count; ++i) {
    symbols[i] = {byte_tokens[static_cast<uint8_t>(piece[i])], i - 1, i + 1 < count ? i + 1 : -1};
  }
  const auto later = [](const BpeScratch::Candidate& a, const BpeScratch::Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
  };
  const auto candidate = [&](int32_t left) {
    const uint32_t left_token = symbols[left].token;
    const uint32_t right_token = symbols[symbols[left].next].token;
    const MergeTable::Found found = merges.find(left_token, right_token);
    return BpeScratch::Candidate{found.rank, left, left_token, right_token, found.result};
  };
  const auto push = [&](int32_t left) {
    const BpeScratch::Candidate made = candidate(left);
    if (made.rank == MergeTable::kNoMerge) return;
    heap.push_back(made);
    std::push_heap(heap.begin(), heap.end(), later);
  };
  for (int32_t i = 0; i + 1 < count; ++i) {
    const BpeScratch::Candidate made = candidate(i);
    if (made.rank != MergeTable::kNoMerge) heap.push_back(made);
  }
  std::make_heap(heap.begin(), heap.end(), later);
  constexpr uint32_t kGone = UINT32_MAX;
  while (!heap.empty()) {
    const BpeScratch::Candidate best = heap.front();
    std::pop_heap(heap.begin(), heap.end(), later);
    heap.pop_back();
    BpeScratch::Symbol& left = symbols[best.left];
    if (left.token != best.left_token || left.next < 0 || symbols[left.next].token != best.right_token) continue;
    BpeScratch::Symbol& right = symbols[left.next];
    left.token = best.result;
    right.token = kGone;
    left.next = right.next;
    if (left.next >= 0) symbols[left.next].previous = best.left;
    if (left.previous >= 0) push(left.previous);
    if (left.next >= 0) push(best.left);
  }
  for (int32_t i = 0; i >= 0; i = symbols[i].next) out.push_back(symbols[i].token);
}

}  // namespace

MergeTable::MergeTable(const std::vector<BpeMerge>& merges) {
  size_t size = 16;
  while (size < merges.size() * 2) size *= 2;
  slots_.resize(size);
  mask_ = size - 1;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const uint64_t key = pair_key(merges[rank].left, merges[rank].right);
    uint64_t at = mix(key) & mask_;
    while (slots_[at].rank != kNoMerge && slots_[at].pair != key) at = (at + 1) & mask_;
    if (slots_[at].rank == kNoMerge) slots_[at] = {key, static_cast<uint32_t>(rank), merges[rank].result};
  }
}

MergeTable::Found MergeTable::find(uint32_t left, uint32_t right) const {
  const uint64_t key = pair_key(left, right);
  for (uint64_t at = mix(key) & mask_;; at = (at + 1) & mask_) {
    const Slot& slot = slots_[at];
    if (slot.rank == kNoMerge) return {kNoMerge, 0};
    if (slot.pair == key) return {slot.rank, slot.result};
  }
}

void bpe_encode(std::string_view piece, const std::array<uint32_t, 256>& byte_tokens, const MergeTable& merges,
                BpeScratch& scratch, std::vector<uint32_t>& out) {
  if (piece.size() > kLongestScanned) {
    encode_long(piece, byte_tokens, merges, scratch, out);
    return;
  }
  if (piece.empty()) return;
  scratch.parts.clear();
  for (char byte : piece) scratch.parts.push_back({byte_tokens[static_cast<uint8_t>(byte)], MergeTable::kNoMerge, 0});
  encode_short(scratch, merges, out);
}

PieceCache::PieceCache() : slots_(kCacheSlots) {}

bool PieceCache::find(std::string_view piece, std::vector<uint32_t>& out) const {
  if (piece.empty() || piece.size() > kLongestCached) return false;
  const auto hash = static_cast<uint32_t>(std::hash<std::string_view>{}(piece));
  for (size_t at = hash % kCacheSlots; slots_[at].key_size != 0; at = (at + 1) % kCacheSlots) {
    const Slot& slot = slots_[at];
    if (slot.hash != hash || slot.key_size != piece.size()) continue;
    if (std::memcmp(keys_.data() + slot.key_begin, piece.data(), piece.size()) != 0) continue;
    out.insert(out.end(), tokens_.begin() + slot.tokens_begin, tokens_.begin() + slot.tokens_begin + slot.num_tokens);
    return true;
  }
  return false;
}

void PieceCache::insert(std::string_view piece, const uint32_t* tokens, size_t count) {
  if (piece.empty() || piece.size() > kLongestCached) return;
  if (used_ >= kMostCached) {
    std::fill(slots_.begin(), slots_.end(), Slot{});
    keys_.clear();
    tokens_.clear();
    used_ = 0;
  }
  const auto hash = static_cast<uint32_t>(std::hash<std::string_view>{}(piece));
  size_t at = hash % kCacheSlots;
  while (slots_[at].key_size != 0) at = (at + 1) % kCacheSlots;
  slots_[at] = {hash, static_cast<uint32_t>(keys_.size()), static_cast<uint32_t>(tokens_.size()),
                static_cast<uint16_t>(piece.size()), static_cast<uint16_t>(count)};
  keys_.append(piece);
  tokens_.insert(tokens_.end(), tokens, tokens + count);
  ++used_;
}

}  // namespace athanor::data
