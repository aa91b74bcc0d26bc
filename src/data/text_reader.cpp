// Decoded text gathers in a buffer and leaves it in parts of a quarter of a megabyte.
#include "data/text_reader.h"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/host.h"
#include "data/byte_reader.h"
#include "data/splitter.h"
#include "data/text_encoding.h"

namespace athanor::data {

namespace {

constexpr size_t kPartBytes = 256 << 10;
constexpr size_t kReachBytes = 1 << 20;       // how far a place to cut is looked for
constexpr size_t kChunkBytes = 256 << 10;     // read at once
constexpr size_t kMostLineBytes = 256 << 20;  // a line of JSON is taken apart as a whole
constexpr size_t kMostKeys = 5;               // named when the text's is not there

bool is_lines_of_json(std::string name) {
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (name.ends_with(packed)) name.resize(name.size() - packed.size());
  }
  return name.ends_with(".jsonl") || name.ends_with(".ndjson");
}

/// How much of the text makes a part; nothing when more text has to be seen to know.
std::optional<size_t> part_size(std::string_view text, bool is_whole) {
  if (text.size() <= kPartBytes) return is_whole ? std::optional(text.size()) : std::nullopt;
  const size_t cut = Splitter::safe_cut(text, kPartBytes, kReachBytes);
  if (cut < text.size()) return cut;
  if (text.size() < kPartBytes + kReachBytes) return is_whole ? std::optional(text.size()) : std::nullopt;
  size_t between = kPartBytes + kReachBytes;
  if (between == text.size()) return is_whole ? std::optional(between) : std::nullopt;
  while ((static_cast<unsigned char>(text[between]) & 0xC0) == 0x80) --between;
  return between;
}

/// The text of one file, decoded as far as was asked.
class FileText {
 public:
  FileText(const std::filesystem::path& path, const std::string& encoding)
      : reader_(path), decoder_(encoding, path.string()), chunk_(kChunkBytes) {}

  std::string_view seen() const { return std::string_view(text_).substr(begin_); }
  bool is_whole() const { return is_whole_; }

  void see_more() {
    text_.erase(0, begin_);
    begin_ = 0;
    const size_t count = reader_.read(chunk_);
    if (count > 0) {
      decoder_.push({chunk_.data(), count}, text_);
    } else {
      decoder_.finish(text_);
      is_whole_ = true;
    }
  }
  void drop(size_t count) { begin_ += count; }

 private:
  ByteReader reader_;
  TextDecoder decoder_;
  std::vector<char> chunk_;
  std::string text_;
  size_t begin_ = 0;  // of what was not dropped
  bool is_whole_ = false;
};

std::string text_of_line(std::string_view line, const std::string& field, const std::string& where) {
  nlohmann::json object;
  try {
    object = nlohmann::json::parse(line);
  } catch (const nlohmann::json::parse_error& error) {
    fail("{}: no JSON at byte {} of the line; each line must be one object, like {{\"{}\": \"...\"}}", where,
         error.byte, field);
  }
  check(object.is_object(), "{}: no JSON object; each line must be one, like {{\"{}\": \"...\"}}", where, field);
  const auto found = object.find(field);
  if (found == object.end()) {
    std::string keys;
    for (const auto& item : object.items()) {
      if (std::count(keys.begin(), keys.end(), ',') + 1 >= static_cast<int64_t>(kMostKeys)) break;
      keys += fmt::format("{}{}", keys.empty() ? "" : ", ", item.key().substr(0, 40));
    }
    fail("{}: has no \"{}\" but {}; name the field of the text with --text-field", where, field,
         keys.empty() ? "no key at all" : keys);
  }
  check(found->is_string(), "{}: \"{}\" is no text; name the field of the text with --text-field", where, field);
  return std::move(found->get_ref<std::string&>());
}

}  // namespace

struct TextReader::State {
  TextFiles files;
  TextOptions options;
  size_t next_file = 0;
  size_t input = 0;           // of the file that is read
  size_t files_of_input = 0;  // of it that were begun
  std::optional<FileText> file;
  bool is_json = false;
  bool has_given = false;  // of this file
  int64_t line = 0;
  size_t scanned = 0;    // of the line that is looked for
  std::string document;  // of a line, as far as it was not given
  size_t document_begin = 0;
  int64_t text_bytes = 0;
  int64_t empty_documents = 0;
  std::exception_ptr failure;  // of an earlier call

  const std::filesystem::path& path() const { return files.paths[next_file - 1]; }

  bool open_next() {
    if (next_file == files.paths.size()) return false;
    while (input < files.inputs.size() && files_of_input == files.inputs[input].num_files) {
      ++input;
      files_of_input = 0;
    }
    ++files_of_input;
    ++next_file;
    file.emplace(path(), options.encoding);
    is_json = is_lines_of_json(path().filename().string());
    has_given = false;
    line = 0;
    scanned = 0;
    return true;
  }

  TextPart part(std::string_view text, bool ends_document) {
    text_bytes += static_cast<int64_t>(text.size());
    has_given = true;
    return {std::string(text), ends_document, input};
  }

  std::optional<TextPart> next_of_plain() {
    std::optional<size_t> size;
    while (!(size = part_size(file->seen(), file->is_whole()))) file->see_more();
    const bool is_last = file->is_whole() && *size == file->seen().size();
    if (is_last && *size == 0) {
      check(has_given, "text: {} is empty; leave it out or fill it", path().string());
      file.reset();
      return std::nullopt;
    }
    TextPart made = part(file->seen().substr(0, *size), is_last);
    file->drop(*size);
    if (is_last) file.reset();
    return made;
  }

  /// The next line without its end; nothing at the end of the file.
  std::optional<std::string_view> next_line() {
    for (;;) {
      const size_t end = file->seen().find('\n', scanned);
      if (end != std::string_view::npos) return file->seen().substr(0, end);
      scanned = file->seen().size();
      check(scanned <= kMostLineBytes, "text: {}: line {} is longer than {} MiB; cut the document into several lines",
            path().string(), line + 1, kMostLineBytes >> 20);
      if (file->is_whole()) return scanned > 0 ? std::optional(file->seen()) : std::nullopt;
      file->see_more();
    }
  }

  /// False at the end of the file.
  bool read_document() {
    while (const std::optional<std::string_view> found = next_line()) {
      ++line;
      std::string_view json = *found;
      const size_t taken = std::min(json.size() + 1, file->seen().size());
      while (!json.empty() && std::string_view(" \t\r").find(json.back()) != std::string_view::npos)
        json.remove_suffix(1);
      std::string text;
      if (!json.empty()) {
        text = text_of_line(json, options.text_field, fmt::format("text: {}: line {}", path().string(), line));
        empty_documents += text.empty() ? 1 : 0;
      }
      file->drop(taken);
      scanned = 0;
      if (text.empty()) continue;
      document = std::move(text);
      document_begin = 0;
      return true;
    }
    file.reset();
    return false;
  }

  std::optional<TextPart> next_of_json() {
    if (document_begin == document.size() && !read_document()) return std::nullopt;
    const std::string_view rest = std::string_view(document).substr(document_begin);
    const size_t size = *part_size(rest, true);
    document_begin += size;
    return part(rest.substr(0, size), size == rest.size());
  }
};

TextReader::TextReader(TextFiles files, TextOptions options) : state_(std::make_unique<State>()) {
  state_->files = std::move(files);
  state_->options = std::move(options);
}
TextReader::TextReader(TextReader&&) noexcept = default;
TextReader::~TextReader() = default;

std::optional<TextPart> TextReader::next() {
  // Several threads ask in turn: after an error all of them are told the same.
  if (state_->failure) std::rethrow_exception(state_->failure);
  if (interrupted()) throw Interrupted();
  try {
    while (state_->file || state_->open_next()) {
      std::optional<TextPart> part = state_->is_json ? state_->next_of_json() : state_->next_of_plain();
      if (part) return part;
    }
    return std::nullopt;
  } catch (...) {
    state_->failure = std::current_exception();
    throw;
  }
}

int64_t TextReader::text_bytes() const { return state_->text_bytes; }
int64_t TextReader::empty_documents() const { return state_->empty_documents; }

DocumentSource text_source(const TextFiles& files, const TextOptions& options) {
  return [reader = std::make_shared<TextReader>(files, options)]() -> std::optional<std::string> {
    std::optional<TextPart> part = reader->next();
    if (!part) return std::nullopt;
    return std::move(part->text);
  };
}

}  // namespace athanor::data
