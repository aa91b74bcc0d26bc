// Ids are stored as u16 when the vocabulary allows it. The whole file is scanned once when it is opened, so that later reads need
// no checks.
#include "data/token_file.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <thread>

#include "base/error.h"
#include "base/host.h"
#include "base/mapped_file.h"
#include "base/safetensors.h"

namespace athanor::data {

namespace {

constexpr size_t kBatchBytes = 16 << 20;  // of text that encode_documents holds at once
constexpr int64_t kMostU16 = 1 << 16;

template <typename T>
std::vector<T> copy_as(std::span<const std::byte> bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}

template <typename T>
uint32_t largest(std::span<const T> tokens) {
  uint32_t most = 0;
  for (T token : tokens) most = std::max<uint32_t>(most, token);
  return most;
}

}  // namespace

struct TokenData::State {
  std::optional<SafetensorsFile> file;
  std::optional<MappedFile> raw;
  std::vector<uint16_t> own_u16;
  std::vector<uint32_t> own_u32;
  std::vector<uint64_t> documents;
  std::span<const uint16_t> u16;
  std::span<const uint32_t> u32;
  DType dtype = DType::U16;
  int64_t vocab_size = 0;
  std::optional<Tokenizer> tokenizer;

  int64_t num_tokens() const { return static_cast<int64_t>(dtype == DType::U16 ? u16.size() : u32.size()); }

  /// Points u16 or u32 at the bytes, or at a copy where they are not aligned.
  void use(std::span<const std::byte> bytes, DType type) {
    dtype = type;
    const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % static_cast<uintptr_t>(size_of(type)) == 0;
    if (type == DType::U16) {
      if (!aligned) own_u16 = copy_as<uint16_t>(bytes);
      u16 = aligned ? std::span(reinterpret_cast<const uint16_t*>(bytes.data()), bytes.size() / 2)
                    : std::span<const uint16_t>(own_u16);
    } else {
      if (!aligned) own_u32 = copy_as<uint32_t>(bytes);
      u32 = aligned ? std::span(reinterpret_cast<const uint32_t*>(bytes.data()), bytes.size() / 4)
                    : std::span<const uint32_t>(own_u32);
    }
  }

  void verify(const std::string& name) {
    check(num_tokens() > 0, "tokens: {} holds no tokens", name);
    const uint32_t most = dtype == DType::U16 ? largest(u16) : largest(u32);
    vocab_size = tokenizer ? tokenizer->vocab_size() : int64_t{most} + 1;
    check(most < vocab_size, "tokens: {} has the id {}, but its tokenizer's vocabulary is {}; prepare it again", name,
          most, vocab_size);
    check(documents.size() >= 2 && documents.front() == 0 && documents.back() == static_cast<uint64_t>(num_tokens()),
          "tokens: in {} the offsets of the documents do not go from 0 to the {} tokens", name, num_tokens());
    const auto falling = std::adjacent_find(documents.begin(), documents.end(), std::greater_equal<>());
    check(falling == documents.end(), "tokens: in {} document {} does not begin before it ends", name,
          falling - documents.begin());
  }

  void open_safetensors(const std::filesystem::path& path) {
    file.emplace(path);
    const TensorEntry& tokens = file->at("tokens");
    const TensorEntry& offsets = file->at("documents");
    check((tokens.dtype == DType::U16 || tokens.dtype == DType::U32) && tokens.shape.size() == 1,
          "tokens: in {} \"tokens\" is not a list of U16 or U32", path.string());
    check(offsets.dtype == DType::U64 && offsets.shape.size() == 1, "tokens: in {} \"documents\" is not a list of U64",
          path.string());
    const auto json = file->metadata().find("tokenizer");
    check(json != file->metadata().end(), "tokens: {} has no tokenizer in its metadata; prepare it again",
          path.string());
    tokenizer = Tokenizer::from_json(json->second, path.string());
    use(tokens.bytes, tokens.dtype);
    documents = copy_as<uint64_t>(offsets.bytes);
  }

  void open_raw(const std::filesystem::path& path) {
    raw.emplace(path);
    check(raw->bytes().size() % 2 == 0, "tokens: {} has an odd number of bytes, so it is not raw u16 tokens",
          path.string());
    use(raw->bytes(), DType::U16);
    documents = {0, static_cast<uint64_t>(u16.size())};
  }
};

TokenData TokenData::open(const std::filesystem::path& path) {
  auto state = std::make_shared<State>();
  if (path.extension() == ".bin") {
    state->open_raw(path);
  } else {
    state->open_safetensors(path);
  }
  state->verify(path.string());
  return TokenData(std::move(state));
}

TokenData::TokenData(std::span<const uint32_t> tokens, std::vector<uint64_t> documents,
                     std::optional<Tokenizer> tokenizer) {
  auto state = std::make_shared<State>();
  state->tokenizer = std::move(tokenizer);
  state->documents = std::move(documents);
  const int64_t vocab_size = state->tokenizer ? state->tokenizer->vocab_size() : int64_t{largest(tokens)} + 1;
  const bool fits =
      vocab_size <= kMostU16 && std::all_of(tokens.begin(), tokens.end(), [](uint32_t id) { return id < kMostU16; });
  state->dtype = fits ? DType::U16 : DType::U32;
  if (fits) {
    state->own_u16.assign(tokens.begin(), tokens.end());
    state->u16 = state->own_u16;
  } else {
    state->own_u32.assign(tokens.begin(), tokens.end());
    state->u32 = state->own_u32;
  }
  state->verify("the text");
  state_ = std::move(state);
}

int64_t TokenData::num_tokens() const { return state_->num_tokens(); }
std::span<const uint64_t> TokenData::documents() const { return state_->documents; }
int64_t TokenData::vocab_size() const { return state_->vocab_size; }
const std::optional<Tokenizer>& TokenData::tokenizer() const { return state_->tokenizer; }
DType TokenData::dtype() const { return state_->dtype; }

std::span<const std::byte> TokenData::bytes() const {
  return dtype() == DType::U16 ? std::as_bytes(state_->u16) : std::as_bytes(state_->u32);
}

void TokenData::read(int64_t begin, std::span<uint32_t> out) const {
  const auto count = static_cast<int64_t>(out.size());
  check(begin >= 0 && count <= num_tokens() && begin <= num_tokens() - count,
        "tokens: {} tokens from {} were asked of {}", count, begin, num_tokens());
  const auto first = static_cast<size_t>(begin);
  if (dtype() == DType::U16) {
    std::copy_n(state_->u16.begin() + first, out.size(), out.begin());
  } else {
    std::copy_n(state_->u32.begin() + first, out.size(), out.begin());
  }
}

namespace {

/// Encodes the documents of a batch, each on one thread, or a single large one on all.
std::vector<std::vector<uint32_t>> encode_batch(const std::vector<std::string>& texts, const Tokenizer& tokenizer,
                                                int threads) {
  std::vector<std::vector<uint32_t>> results(texts.size());
  if (texts.size() < static_cast<size_t>(threads) || threads == 1) {
    for (size_t i = 0; i < texts.size(); ++i) results[i] = tokenizer.encode(texts[i], {.threads = threads});
    return results;
  }
  std::vector<std::exception_ptr> errors(static_cast<size_t>(threads));
  std::atomic<size_t> next{0};
  {
    std::vector<std::jthread> workers;
    for (int worker = 0; worker < threads; ++worker) {
      workers.emplace_back([&, worker] {
        try {
          for (size_t i = next++; i < texts.size(); i = next++) results[i] = tokenizer.encode(texts[i]);
        } catch (...) {
          errors[worker] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return results;
}

}  // namespace

TokenData encode_documents(const DocumentSource& documents, const Tokenizer& tokenizer, int threads) {
  const int workers = threads > 0 ? threads : available_threads();
  const uint32_t end_of_text = tokenizer.end_of_text();
  std::vector<uint32_t> tokens;
  std::vector<uint64_t> offsets{0};
  for (bool more = true; more;) {
    std::vector<std::string> batch;
    for (size_t bytes = 0; bytes < kBatchBytes;) {
      std::optional<std::string> document = documents();
      more = document.has_value();
      if (!more) break;
      bytes += document->size();
      batch.push_back(std::move(*document));
    }
    for (const std::vector<uint32_t>& encoded : encode_batch(batch, tokenizer, workers)) {
      tokens.insert(tokens.end(), encoded.begin(), encoded.end());
      tokens.push_back(end_of_text);
      offsets.push_back(tokens.size());
    }
  }
  check(!tokens.empty(), "tokens: there is no text");
  return TokenData(tokens, std::move(offsets), tokenizer);
}

void write_token_file(const std::filesystem::path& path, const TokenData& data) {
  check(data.tokenizer().has_value(), "tokens: {} cannot be written, since the tokenizer of these tokens is not known",
        path.string());
  const std::vector<TensorToWrite> tensors{
      {.name = "documents",
       .dtype = DType::U64,
       .shape = {static_cast<int64_t>(data.documents().size())},
       .bytes = std::as_bytes(data.documents())},
      {.name = "tokens", .dtype = data.dtype(), .shape = {data.num_tokens()}, .bytes = data.bytes()},
  };
  write_safetensors(path, tensors, {{"format", "athanor-tokens"}, {"tokenizer", data.tokenizer()->to_json()}});
}

bool is_token_file(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) return false;
  if (path.extension() == ".bin") return true;
  std::ifstream file(path, std::ios::binary);
  uint64_t header_size = 0;
  char brace = 0;
  file.read(reinterpret_cast<char*>(&header_size), sizeof header_size);
  file.get(brace);
  // The first byte of text after eight others is hardly ever a brace at the end of a length that fits the file.
  return file && brace == '{' && header_size >= 2 &&
         header_size <= std::filesystem::file_size(path) - sizeof header_size;
}

}  // namespace athanor::data
