// Encoding: added tokens are cut out first, then the text is split into pieces, then each piece is merged or found in a cache.
#include "data/tokenizer.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "base/error.h"
#include "data/utf8.h"

namespace athanor::data {

namespace {

/// Texts are handed to threads in parts of this size; below it a thread costs more than it gives.
constexpr size_t kBytesPerThread = 512 << 10;

/// What one call of encode works in. Kept between calls, since the cache is what makes encoding fast.
struct EncodeScratch {
  explicit EncodeScratch(const Splitter& splitter) : split(splitter) {}
  Splitter::Scratch split;
  BpeScratch bpe;
  PieceCache cache;
};

std::string replace_invalid(std::string_view bytes) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string out;
  while (!bytes.empty()) {
    const size_t valid = valid_utf8_prefix(bytes);
    out.append(bytes.substr(0, valid));
    bytes.remove_prefix(valid);
    if (bytes.empty()) break;
    out.append(kReplacement);
    bytes.remove_prefix(1);
  }
  return out;
}

}  // namespace

struct Tokenizer::Model {
  explicit Model(TokenizerParts made) : parts(std::move(made)), splitter(parts.split), merges(parts.merges) {
    special.resize(parts.tokens.size(), false);
    for (const AddedToken& added : parts.added) {
      check(added.id < parts.tokens.size() && !added.content.empty(),
            "tokenizer: added token {} is not in the vocabulary", added.id);
      special[added.id] = added.special;
      by_content.emplace(added.content, added.id);
      by_first_byte[static_cast<uint8_t>(added.content[0])].push_back(&added);
    }
    for (std::vector<const AddedToken*>& list : by_first_byte) {
      std::stable_sort(list.begin(), list.end(),
                       [](const AddedToken* a, const AddedToken* b) { return a->content.size() > b->content.size(); });
    }
    if (!parts.ignore_merges) return;
    for (uint32_t id = 0; id < parts.tokens.size(); ++id) {
      if (!parts.tokens[id].empty() && !by_content.contains(parts.tokens[id]))
        whole_pieces.emplace(parts.tokens[id], id);
    }
  }

  std::unique_ptr<EncodeScratch> borrow_scratch() const {
    {
      const std::lock_guard lock(mutex);
      if (!idle.empty()) {
        std::unique_ptr<EncodeScratch> scratch = std::move(idle.back());
        idle.pop_back();
        return scratch;
      }
    }
    return std::make_unique<EncodeScratch>(splitter);
  }
  void give_back(std::unique_ptr<EncodeScratch> scratch) const {
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(scratch));
  }

  void encode_piece(std::string_view piece, EncodeScratch& scratch, std::vector<uint32_t>& out) const;
  void encode_part(std::string_view text, std::vector<uint32_t>& out) const;
  void encode_plain(std::string_view text, std::vector<uint32_t>& out, int threads) const;
  const AddedToken* added_at(std::string_view text, bool parse_special) const;

  TokenizerParts parts;
  Splitter splitter;
  MergeTable merges;
  std::vector<bool> special;
  std::unordered_map<std::string_view, uint32_t> by_content;
  std::array<std::vector<const AddedToken*>, 256> by_first_byte;  // longest first
  std::unordered_map<std::string_view, uint32_t> whole_pieces;    // only for ignore_merges
  mutable std::mutex mutex;
  mutable std::vector<std::unique_ptr<EncodeScratch>> idle;
};

void Tokenizer::Model::encode_piece(std::string_view piece, EncodeScratch& scratch, std::vector<uint32_t>& out) const {
  if (scratch.cache.find(piece, out)) return;
  const size_t before = out.size();
  if (const auto whole = whole_pieces.find(piece); whole != whole_pieces.end()) {
    out.push_back(whole->second);
  } else {
    bpe_encode(piece, parts.byte_tokens, merges, scratch.bpe, out);
  }
  scratch.cache.insert(piece, out.data() + before, out.size() - before);
}

void Tokenizer::Model::encode_part(std::string_view text, std::vector<uint32_t>& out) const {
  std::unique_ptr<EncodeScratch> scratch = borrow_scratch();
  splitter.split(text, scratch->split, [&](std::string_view piece) { encode_piece(piece, *scratch, out); });
  give_back(std::move(scratch));
}

void Tokenizer::Model::encode_plain(std::string_view text, std::vector<uint32_t>& out, int threads) const {
  if (text.empty()) return;
  const size_t most = std::min<size_t>(static_cast<size_t>(std::max(threads, 1)), text.size() / kBytesPerThread);
  if (most <= 1) {
    encode_part(text, out);
    return;
  }
  std::vector<std::string_view> chunks;
  const size_t chunk_bytes = text.size() / most;
  while (!text.empty()) {
    const size_t cut = Splitter::safe_cut(text, std::min(chunk_bytes, text.size()));
    chunks.push_back(text.substr(0, cut));
    text.remove_prefix(cut);
  }
  std::vector<std::vector<uint32_t>> results(chunks.size());
  std::vector<std::exception_ptr> errors(chunks.size());
  {
    std::vector<std::jthread> workers;
    for (size_t i = 0; i < chunks.size(); ++i) {
      workers.emplace_back([this, &chunks, &results, &errors, i] {
        try {
          encode_part(chunks[i], results[i]);
        } catch (...) {
          errors[i] = std::current_exception();
        }
      });
    }
  }
  for (size_t i = 0; i < chunks.size(); ++i) {
    if (errors[i]) std::rethrow_exception(errors[i]);
    out.insert(out.end(), results[i].begin(), results[i].end());
  }
}

const AddedToken* Tokenizer::Model::added_at(std::string_view text, bool parse_special) const {
  for (const AddedToken* added : by_first_byte[static_cast<uint8_t>(text[0])]) {
    if ((parse_special || !added->special) && text.starts_with(added->content)) return added;
  }
  return nullptr;
}

Tokenizer::Tokenizer(TokenizerParts parts) : model_(std::make_shared<Model>(std::move(parts))) {}

std::vector<uint32_t> Tokenizer::encode(std::string_view bytes, EncodeOptions options) const {
  std::vector<uint32_t> out;
  encode_to(bytes, out, options);
  return out;
}

void Tokenizer::encode_to(std::string_view bytes, std::vector<uint32_t>& out, EncodeOptions options) const {
  const bool any_added = std::any_of(model_->parts.added.begin(), model_->parts.added.end(),
                                     [&](const AddedToken& added) { return options.parse_special || !added.special; });
  if (!any_added) {
    model_->encode_plain(bytes, out, options.threads);
    return;
  }
  size_t plain_begin = 0;
  for (size_t at = 0; at < bytes.size();) {
    const AddedToken* added = model_->added_at(bytes.substr(at), options.parse_special);
    if (added == nullptr) {
      ++at;
      continue;
    }
    model_->encode_plain(bytes.substr(plain_begin, at - plain_begin), out, options.threads);
    out.push_back(added->id);
    at += added->content.size();
    plain_begin = at;
  }
  model_->encode_plain(bytes.substr(plain_begin), out, options.threads);
}

std::string Tokenizer::decode(std::span<const uint32_t> tokens) const {
  std::string out;
  for (uint32_t id : tokens) out.append(token_bytes(id));
  return out;
}

std::string_view Tokenizer::token_bytes(uint32_t id) const {
  check(id < model_->parts.tokens.size(), "tokenizer: token {} is outside the vocabulary of {}", id,
        model_->parts.tokens.size());
  return model_->parts.tokens[id];
}

int64_t Tokenizer::vocab_size() const { return static_cast<int64_t>(model_->parts.tokens.size()); }

Split Tokenizer::split() const { return model_->parts.split; }

const TokenizerParts& Tokenizer::parts() const { return model_->parts; }

bool Tokenizer::is_special(uint32_t id) const { return id < model_->special.size() && model_->special[id]; }

std::optional<uint32_t> Tokenizer::special(std::string_view content) const {
  const auto found = model_->by_content.find(content);
  if (found == model_->by_content.end()) return std::nullopt;
  return found->second;
}

uint32_t Tokenizer::end_of_text() const {
  for (std::string_view name :
       {kEndOfText, std::string_view("<|end_of_text|>"), std::string_view("</s>"), std::string_view("<|eot_id|>"),
        std::string_view("<|im_end|>"), std::string_view("<eos>")}) {
    if (const std::optional<uint32_t> id = special(name)) return *id;
  }
  fail("tokenizer: it has no token that ends a document ({} or the like); add one to its added_tokens", kEndOfText);
}

std::string StreamDecoder::push(uint32_t token) {
  held_.append(tokenizer_.token_bytes(token));
  const size_t ready = held_.size() - incomplete_utf8_tail(held_);
  std::string out = replace_invalid(std::string_view(held_).substr(0, ready));
  held_.erase(0, ready);
  return out;
}

std::string StreamDecoder::finish() {
  std::string out = held_.empty() ? std::string() : std::string("\xEF\xBF\xBD");
  held_.clear();
  return out;
}

}  // namespace athanor::data
