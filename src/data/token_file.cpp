// Ids are stored as u16 when the vocabulary allows it. The whole file is scanned once when it is opened, so that a bad id does not end a
// run after a day, and later reads need no checks.
#include "data/token_file.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/safetensors.h"

namespace athanor::data {

namespace {

constexpr int64_t kMostU16 = 1 << 16;

template <typename T>
std::vector<T> copy_as(std::span<const std::byte> bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}

enum class Memory { Own, Mapped };

template <typename T>
uint32_t largest(std::span<const T> tokens, Memory memory) {
  constexpr size_t kStretch = 16 << 20;  // so much of a mapped file is resident at once
  uint32_t most = 0;
  for (size_t begin = 0; begin < tokens.size(); begin += kStretch) {
    const std::span<const T> stretch = tokens.subspan(begin, std::min(kStretch, tokens.size() - begin));
    for (T token : stretch) most = std::max<uint32_t>(most, token);
    if (memory == Memory::Mapped) release_pages(std::as_bytes(stretch));
  }
  return most;
}

}  // namespace

struct TokenData::State {
  std::optional<SafetensorsFile> file;
  std::optional<MappedFile> raw;
  std::vector<uint16_t> own_u16;
  std::vector<uint32_t> own_u32;
  std::vector<uint64_t> own_documents;
  DocumentOffsets documents;
  std::vector<TokenSource> sources;
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
    const Memory memory = own_u16.empty() && own_u32.empty() ? Memory::Mapped : Memory::Own;
    const uint32_t most = dtype == DType::U16 ? largest(u16, memory) : largest(u32, memory);
    vocab_size = tokenizer ? tokenizer->vocab_size() : int64_t{most} + 1;
    check(most < vocab_size, "tokens: {} has the id {}, but its tokenizer's vocabulary is {}; prepare it again", name,
          most, vocab_size);
    const auto count = static_cast<int64_t>(documents.size());
    check(count >= 2 && documents[0] == 0 && documents[count - 1] == static_cast<uint64_t>(num_tokens()),
          "tokens: in {} the offsets of the documents do not go from 0 to the {} tokens; prepare it again", name,
          num_tokens());
    for (int64_t i = 1; i < count; ++i) {
      check(documents[i - 1] < documents[i], "tokens: in {} document {} does not begin before it ends", name, i - 1);
    }
    if (sources.empty()) sources.push_back({name, count - 1});
    int64_t left = count - 1;
    for (const TokenSource& source : sources) {
      check(source.documents >= 0 && source.documents <= left,
            "tokens: in {} the sources have more than its {} documents", name, count - 1);
      left -= source.documents;
    }
    check(left == 0, "tokens: in {} {} of {} documents belong to no source", name, left, count - 1);
  }

  void read_sources(const std::string& text, const std::string& name) {
    const nlohmann::json list = nlohmann::json::parse(text, nullptr, false);
    check(list.is_array(), "tokens: in {} the sources are no list; prepare it again", name);
    for (const nlohmann::json& entry : list) {
      check(entry.is_object() && entry.contains("name") && entry["name"].is_string() && entry.contains("documents") &&
                entry["documents"].is_number_integer(),
            "tokens: in {} a source is no name with a number of documents; prepare it again", name);
      sources.push_back({entry["name"].get<std::string>(), entry["documents"].get<int64_t>()});
    }
  }

  void use_own_documents(std::vector<uint64_t> offsets) {
    own_documents = std::move(offsets);
    documents = DocumentOffsets(std::as_bytes(std::span(own_documents)));
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
    documents = DocumentOffsets(offsets.bytes);
    if (const auto sources_json = file->metadata().find("sources"); sources_json != file->metadata().end()) {
      read_sources(sources_json->second, path.string());
    }
  }

  void open_raw(const std::filesystem::path& path) {
    raw.emplace(path);
    check(raw->bytes().size() % 2 == 0, "tokens: {} has an odd number of bytes, so it is not raw u16 tokens",
          path.string());
    use(raw->bytes(), DType::U16);
    use_own_documents({0, static_cast<uint64_t>(u16.size())});
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
                     std::optional<Tokenizer> tokenizer, std::vector<TokenSource> sources) {
  auto state = std::make_shared<State>();
  state->tokenizer = std::move(tokenizer);
  state->sources = std::move(sources);
  state->use_own_documents(std::move(documents));
  const int64_t vocab_size =
      state->tokenizer ? state->tokenizer->vocab_size() : int64_t{largest(tokens, Memory::Own)} + 1;
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
DocumentOffsets TokenData::documents() const { return state_->documents; }
const std::vector<TokenSource>& TokenData::sources() const { return state_->sources; }

int64_t TokenData::document_at(int64_t token) const {
  check(token >= 0 && token < num_tokens(), "tokens: token {} was asked of {}", token, num_tokens());
  const DocumentOffsets offsets = documents();
  int64_t first = 0;  // begins at or before the token
  int64_t behind = num_documents();
  while (behind - first > 1) {
    const int64_t middle = first + (behind - first) / 2;
    (offsets[middle] <= static_cast<uint64_t>(token) ? first : behind) = middle;
  }
  return first;
}

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

struct TokenFileWriter::State {
  std::filesystem::path path;
  std::map<std::string, std::string> metadata;
  std::vector<TokenSource> sources;
  DType dtype = DType::U16;
  SafetensorsLists file;
  AtomicFile offsets;  // of the documents, until their turn comes; never put in place
  int64_t offsets_bytes = 0;
  std::vector<uint64_t> waiting;     // offsets not written yet
  std::vector<std::byte> unwritten;  // tokens as the file has them: documents may be tiny
  int64_t tokens = 0;
  int64_t last_end = 0;
  size_t source = 0;

  static std::string json_of(const std::vector<TokenSource>& sources) {
    nlohmann::json list = nlohmann::json::array();
    for (const TokenSource& source : sources) list.push_back({{"name", source.name}, {"documents", source.documents}});
    return list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  static std::map<std::string, std::string> metadata_for(const Tokenizer& tokenizer,
                                                         const std::vector<std::string>& inputs) {
    std::vector<TokenSource> largest;
    for (const std::string& name : inputs) largest.push_back({name, INT64_MAX});
    std::map<std::string, std::string> metadata{{"format", "athanor-tokens"}, {"tokenizer", tokenizer.to_json()}};
    if (inputs.size() > 1) metadata["sources"] = json_of(largest);
    return metadata;
  }

  State(const std::filesystem::path& to, const Tokenizer& tokenizer, const std::vector<std::string>& inputs)
      : path(to),
        metadata(metadata_for(tokenizer, inputs)),
        dtype(tokenizer.vocab_size() <= kMostU16 ? DType::U16 : DType::U32),
        file(to, {{"tokens", dtype}, {"documents", DType::U64}}, metadata),
        offsets(to.string() + ".documents") {
    for (const std::string& name : inputs) sources.push_back({name, 0});
    waiting.push_back(0);
  }

  template <typename T>
  void put(std::span<const uint32_t> ids) {
    const size_t begin = unwritten.size();
    unwritten.resize(begin + ids.size() * sizeof(T));
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto id = static_cast<T>(ids[i]);
      std::memcpy(unwritten.data() + begin + i * sizeof(T), &id, sizeof(T));
    }
  }

  void write_tokens() {
    file.append(unwritten);
    unwritten.clear();
  }

  void write_waiting() {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(waiting));
    offsets.write(bytes);
    offsets_bytes += static_cast<int64_t>(bytes.size());
    waiting.clear();
  }
};

TokenFileWriter::TokenFileWriter(const std::filesystem::path& path, const Tokenizer& tokenizer,
                                 const std::vector<std::string>& inputs)
    : state_(std::make_unique<State>(path, tokenizer, inputs)) {
  check(!inputs.empty(), "tokens: {} has no source; name at least one", path.string());
}
TokenFileWriter::~TokenFileWriter() = default;

int64_t TokenFileWriter::num_tokens() const { return state_->tokens; }

void TokenFileWriter::append(std::span<const uint32_t> tokens) {
  State& state = *state_;
  constexpr size_t kMostUnwritten = 256 << 10;
  if (state.dtype == DType::U16) {
    state.put<uint16_t>(tokens);
  } else {
    state.put<uint32_t>(tokens);
  }
  if (state.unwritten.size() >= kMostUnwritten) state.write_tokens();
  state.tokens += static_cast<int64_t>(tokens.size());
}

void TokenFileWriter::end_document(size_t source) {
  constexpr size_t kMostWaiting = 8192;
  State& state = *state_;
  check(source >= state.source && source < state.sources.size(),
        "tokens: a document of source {} was given after one of source {}, of {}", source, state.source,
        state.sources.size());
  state.source = source;
  if (state.tokens == state.last_end) return;
  state.last_end = state.tokens;
  ++state.sources[source].documents;
  state.waiting.push_back(static_cast<uint64_t>(state.tokens));
  if (state.waiting.size() >= kMostWaiting) state.write_waiting();
}

void TokenFileWriter::commit() {
  State& state = *state_;
  check(state.tokens > 0 && state.last_end == state.tokens, "tokens: {} has {}; give at least one whole document",
        state.path.string(), state.tokens == 0 ? "no tokens" : "a document that did not end");
  state.write_tokens();
  state.write_waiting();
  state.file.next_list();
  std::vector<std::byte> buffer(1 << 20);
  for (int64_t begin = 0; begin < state.offsets_bytes;) {
    const int64_t count = std::min(static_cast<int64_t>(buffer.size()), state.offsets_bytes - begin);
    const std::span<std::byte> part = std::span(buffer).first(static_cast<size_t>(count));
    state.offsets.read_back(static_cast<uint64_t>(begin), part);
    state.file.append(part);
    begin += count;
  }
  if (state.sources.size() > 1) state.metadata["sources"] = State::json_of(state.sources);
  state.file.commit(state.metadata);
}

void write_token_file(const std::filesystem::path& path, const TokenData& data) {
  check(data.tokenizer().has_value(), "tokens: {} cannot be written, since the tokenizer of these tokens is not known",
        path.string());
  constexpr int64_t kChunk = 1 << 18;
  std::vector<std::string> names;
  for (const TokenSource& source : data.sources()) names.push_back(source.name);
  TokenFileWriter writer(path, *data.tokenizer(), names);
  std::vector<uint32_t> chunk;
  int64_t document = 0;
  for (size_t source = 0; source < data.sources().size(); ++source) {
    for (int64_t i = 0; i < data.sources()[source].documents; ++i, ++document) {
      const auto end = static_cast<int64_t>(data.documents()[document + 1]);
      for (auto begin = static_cast<int64_t>(data.documents()[document]); begin < end; begin += kChunk) {
        chunk.resize(static_cast<size_t>(std::min(kChunk, end - begin)));
        data.read(begin, chunk);
        writer.append(chunk);
      }
      writer.end_document(source);
    }
  }
  writer.commit();
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
