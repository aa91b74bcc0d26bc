// tokenizer.json in Hugging Face's form, read as a hostile file: whatever athanor would not encode exactly as the tokenizers
// package does is refused by name rather than approximated.
#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"
#include "base/mapped_file.h"
#include "data/byte_alphabet.h"
#include "data/tokenizer.h"

namespace athanor::data {

namespace {

using nlohmann::json;

/// Ids may have holes (reserved entries), but a file must not make us allocate without limit.
constexpr uint64_t kMostUnusedIds = 1 << 16;

class Reader {
 public:
  explicit Reader(std::string_view name) : name_(name) {}

  TokenizerParts read(std::string_view text);

 private:
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail("tokenizer: {}: {}", name_, fmt::format(format, std::forward<Args>(args)...));
  }

  json parse(std::string_view text) const;
  std::string type_of(const json& value, std::string_view place) const;
  const json* find(const json& object, const char* key) const;
  bool flag(const json& object, const char* key, bool when_absent, std::string_view place) const;
  uint32_t id_of(const json& value, uint64_t most, std::string_view place) const;

  void check_model(const json& model) const;
  Split split_of(const json& pre_tokenizer) const;
  Split split_of_stage(const json& stage) const;
  void check_byte_level(const json& stage, bool regex_wanted) const;
  void read_vocabulary(const json& model, const json* added, TokenizerParts& parts);
  void read_added(const json& list, TokenizerParts& parts) const;
  void read_merges(const json& merges, TokenizerParts& parts) const;
  std::pair<std::string, std::string> merge_sides(const json& merge, size_t place) const;
  uint32_t token_of(const std::string& symbols, size_t place) const;
  void find_byte_tokens(TokenizerParts& parts) const;

  std::string name_;
  std::unordered_map<std::string, uint32_t> ids_;  // by symbols
};

json Reader::parse(std::string_view text) const {
  try {
    json root = json::parse(text);
    if (!root.is_object()) refuse("it holds no JSON object");
    return root;
  } catch (const json::exception& error) {
    refuse("it is not JSON ({}); take a whole tokenizer.json", error.what());
  }
}

const json* Reader::find(const json& object, const char* key) const {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string Reader::type_of(const json& value, std::string_view place) const {
  const json* type = value.is_object() ? find(value, "type") : nullptr;
  if (type == nullptr || !type->is_string()) refuse("{} has no \"type\"", place);
  return type->get<std::string>();
}

bool Reader::flag(const json& object, const char* key, bool when_absent, std::string_view place) const {
  const json* value = find(object, key);
  if (value == nullptr) return when_absent;
  if (!value->is_boolean()) refuse("{}.{} is not true or false", place, key);
  return value->get<bool>();
}

uint32_t Reader::id_of(const json& value, uint64_t most, std::string_view place) const {
  if (!value.is_number_unsigned()) refuse("the id of {} is not a whole number of at least 0", place);
  const auto id = value.get<uint64_t>();
  if (id > most) refuse("the id {} of {} is too large for the number of entries", id, place);
  return static_cast<uint32_t>(id);
}

void Reader::check_model(const json& model) const {
  if (!model.is_object()) refuse("model is not an object");
  const std::string type = find(model, "type") != nullptr ? type_of(model, "model") : std::string("BPE");
  if (type != "BPE") refuse("a model of type {} is not supported, only byte-level BPE", type);
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const json* value = find(model, key);
    if (value != nullptr && *value != "") refuse("model.{} is not supported", key);
  }
  const json* dropout = find(model, "dropout");
  if (dropout != nullptr && *dropout != 0.0) refuse("model.dropout is not supported");
  if (flag(model, "byte_fallback", false, "model")) refuse("model.byte_fallback is not supported");
}

void Reader::check_byte_level(const json& stage, bool regex_wanted) const {
  const std::string type = type_of(stage, "pre_tokenizer");
  if (type != "ByteLevel") refuse("the pre-tokenizer {} is not supported where ByteLevel belongs", type);
  if (flag(stage, "add_prefix_space", true, "pre_tokenizer"))
    refuse("ByteLevel with add_prefix_space is not supported");
  if (flag(stage, "use_regex", true, "pre_tokenizer") != regex_wanted) {
    refuse("ByteLevel with use_regex {} is not supported here", !regex_wanted);
  }
}

Split Reader::split_of_stage(const json& stage) const {
  const std::string type = type_of(stage, "pre_tokenizer");
  if (type != "Split") refuse("the pre-tokenizer {} is not supported", type);
  const json* pattern = find(stage, "pattern");
  const json* regex = pattern != nullptr && pattern->is_object() ? find(*pattern, "Regex") : nullptr;
  if (regex == nullptr || !regex->is_string()) refuse("a Split without a Regex is not supported");
  const std::optional<Split> split = split_from_pattern(regex->get<std::string>());
  if (!split) refuse("the splitting expression {} is not one of tekken, gpt2, llama3", regex->dump());
  // The three expressions match all text, so keeping the matches is the same as isolating them.
  const json* behavior = find(stage, "behavior");
  const bool inverted = flag(stage, "invert", false, "pre_tokenizer");
  const bool isolates = behavior != nullptr && *behavior == "Isolated" && !inverted;
  const bool keeps = behavior != nullptr && *behavior == "Removed" && inverted;
  if (!isolates && !keeps) refuse("a Split must be Isolated and not inverted");
  return *split;
}

Split Reader::split_of(const json& pre_tokenizer) const {
  const std::string type = type_of(pre_tokenizer, "pre_tokenizer");
  if (type != "Sequence") {
    check_byte_level(pre_tokenizer, true);
    return Split::Gpt2;
  }
  const json* stages = find(pre_tokenizer, "pretokenizers");
  if (stages == nullptr || !stages->is_array() || stages->empty()) refuse("the pre-tokenizer Sequence is empty");
  if (stages->size() == 1) {
    check_byte_level((*stages)[0], true);
    return Split::Gpt2;
  }
  const Split split = split_of_stage((*stages)[0]);
  if (stages->size() > 2) refuse("the pre-tokenizer {} is not supported", type_of((*stages)[2], "pre_tokenizer"));
  check_byte_level((*stages)[1], false);
  return split;
}

void Reader::read_vocabulary(const json& model, const json* added, TokenizerParts& parts) {
  const json* vocabulary = find(model, "vocab");
  if (vocabulary == nullptr || !vocabulary->is_object()) refuse("model.vocab is not an object");
  const uint64_t entries = vocabulary->size() + (added != nullptr ? added->size() : 0);
  const uint64_t most = entries + kMostUnusedIds;
  std::vector<bool> taken;
  for (const auto& [symbols, value] : vocabulary->items()) {
    const uint32_t id = id_of(value, most, fmt::format("\"{}\"", symbols));
    if (symbols.empty()) refuse("an entry of model.vocab is empty");
    if (id >= parts.tokens.size()) {
      parts.tokens.resize(id + 1);
      taken.resize(id + 1);
    }
    if (taken[id]) refuse("the id {} is given twice in model.vocab", id);
    taken[id] = true;
    // What is not in the alphabet cannot come out of a merge; it decodes to its own text, as in the tokenizers package.
    parts.tokens[id] = symbols_to_bytes(symbols).value_or(symbols);
    ids_.emplace(symbols, id);
  }
  if (added == nullptr) return;
  if (!added->is_array()) refuse("added_tokens is not a list");
  read_added(*added, parts);
  for (AddedToken& token : parts.added) {
    if (token.id > most)
      refuse("the id {} of added token \"{}\" is too large for the number of entries", token.id, token.content);
    if (token.id >= parts.tokens.size()) parts.tokens.resize(token.id + 1);
    const auto in_vocabulary = ids_.find(token.content);
    const bool same = in_vocabulary != ids_.end() && in_vocabulary->second == token.id;
    if (!same && !parts.tokens[token.id].empty()) {
      refuse("the added token \"{}\" has the id {} of another token", token.content, token.id);
    }
    parts.tokens[token.id] = token.content;
  }
}

void Reader::read_added(const json& list, TokenizerParts& parts) const {
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string place = fmt::format("added_tokens[{}]", i);
    const json& entry = list[i];
    const json* content = entry.is_object() ? find(entry, "content") : nullptr;
    const json* id = entry.is_object() ? find(entry, "id") : nullptr;
    if (content == nullptr || !content->is_string() || content->get_ref<const std::string&>().empty() ||
        id == nullptr) {
      refuse("{} has no \"id\" and \"content\"", place);
    }
    for (const char* key : {"single_word", "lstrip", "rstrip"}) {
      if (flag(entry, key, false, place)) refuse("{} has {}, which is not supported", place, key);
    }
    parts.added.push_back({id_of(*id, std::numeric_limits<uint32_t>::max() - 1, place), content->get<std::string>(),
                           flag(entry, "special", false, place)});
  }
}

std::pair<std::string, std::string> Reader::merge_sides(const json& merge, size_t place) const {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  if (merge.is_string()) {
    const auto& text = merge.get_ref<const std::string&>();
    const size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
      return {text.substr(0, space), text.substr(space + 1)};
    }
  }
  refuse("model.merges[{}] is neither \"a b\" nor [\"a\", \"b\"]", place);
}

uint32_t Reader::token_of(const std::string& symbols, size_t place) const {
  const auto found = ids_.find(symbols);
  if (found == ids_.end()) refuse("model.merges[{}] needs \"{}\", which model.vocab lacks", place, symbols);
  return found->second;
}

void Reader::read_merges(const json& merges, TokenizerParts& parts) const {
  if (!merges.is_array()) refuse("model.merges is not a list");
  parts.merges.reserve(merges.size());
  for (size_t i = 0; i < merges.size(); ++i) {
    const auto [left, right] = merge_sides(merges[i], i);
    parts.merges.push_back({token_of(left, i), token_of(right, i), token_of(left + right, i)});
  }
}

void Reader::find_byte_tokens(TokenizerParts& parts) const {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const std::string raw(1, static_cast<char>(byte));
    const auto found = ids_.find(bytes_to_symbols(raw));
    if (found == ids_.end()) {
      refuse("model.vocab lacks the symbol \"{}\" of byte 0x{:02X}, so it is not a byte-level BPE that keeps all text",
             bytes_to_symbols(raw), byte);
    }
    parts.byte_tokens[byte] = found->second;
  }
}

TokenizerParts Reader::read(std::string_view text) {
  const json root = parse(text);
  const json* model = find(root, "model");
  if (model == nullptr) refuse("it has no \"model\"; is it a tokenizer.json?");
  check_model(*model);
  if (const json* normalizer = find(root, "normalizer")) {
    refuse("the normalizer {} is not supported", type_of(*normalizer, "normalizer"));
  }
  const json* pre_tokenizer = find(root, "pre_tokenizer");
  if (pre_tokenizer == nullptr) refuse("a BPE without pre-tokenizer is not supported");
  TokenizerParts parts;
  parts.split = split_of(*pre_tokenizer);
  parts.ignore_merges = flag(*model, "ignore_merges", false, "model");
  read_vocabulary(*model, find(root, "added_tokens"), parts);
  const json* merges = find(*model, "merges");
  if (merges == nullptr) refuse("model.merges is not a list");
  read_merges(*merges, parts);
  find_byte_tokens(parts);
  parts.source_json = text;
  return parts;
}

std::string json_string(std::string_view text) { return json(text).dump(); }

}  // namespace

Tokenizer Tokenizer::load(const std::filesystem::path& path) {
  const MappedFile file(path);
  check(!file.bytes().empty(), "tokenizer: {} is empty", path.string());
  return from_json({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, path.string());
}

Tokenizer Tokenizer::from_json(std::string_view text, std::string_view name) {
  return Tokenizer(Reader(name).read(text));
}

std::string Tokenizer::to_json() const {
  const TokenizerParts& from = parts();
  if (!from.source_json.empty()) return from.source_json;
  const auto is_added = [&from](uint32_t id) {
    return std::any_of(from.added.begin(), from.added.end(), [id](const AddedToken& added) { return added.id == id; });
  };
  std::vector<std::string> symbols(from.tokens.size());
  for (uint32_t id = 0; id < symbols.size(); ++id)
    symbols[id] = is_added(id) ? from.tokens[id] : bytes_to_symbols(from.tokens[id]);

  std::string out = "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n  \"added_tokens\": [";
  for (size_t i = 0; i < from.added.size(); ++i) {
    out += fmt::format(
        "{}\n    {{\"id\": {}, \"content\": {}, \"single_word\": false, \"lstrip\": false, \"rstrip\": false, "
        "\"normalized\": false, \"special\": {}}}",
        i == 0 ? "" : ",", from.added[i].id, json_string(from.added[i].content), from.added[i].special);
  }
  out += fmt::format(
      "\n  ],\n  \"normalizer\": null,\n  \"pre_tokenizer\": {{\"type\": \"Sequence\", \"pretokenizers\": [\n"
      "    {{\"type\": \"Split\", \"pattern\": {{\"Regex\": {}}}, \"behavior\": \"Isolated\", \"invert\": false}},\n"
      "    {{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, \"use_regex\": false}}\n  "
      "]}},\n"
      "  \"post_processor\": null,\n"
      "  \"decoder\": {{\"type\": \"ByteLevel\", \"add_prefix_space\": true, \"trim_offsets\": true, \"use_regex\": "
      "true}},\n"
      "  \"model\": {{\n    \"type\": \"BPE\",\n    \"dropout\": null,\n    \"unk_token\": null,\n"
      "    \"continuing_subword_prefix\": null,\n    \"end_of_word_suffix\": null,\n    \"fuse_unk\": false,\n"
      "    \"byte_fallback\": false,\n    \"ignore_merges\": {},\n    \"vocab\": {{",
      json_string(pattern_of(from.split)), from.ignore_merges);
  const char* separator = "";
  for (uint32_t id = 0; id < symbols.size(); ++id) {
    if (symbols[id].empty()) continue;
    out += fmt::format("{}\n      {}: {}", separator, json_string(symbols[id]), id);
    separator = ",";
  }
  out += "\n    },\n    \"merges\": [";
  separator = "";
  for (const BpeMerge& merge : from.merges) {
    out += fmt::format("{}\n      {}", separator, json_string(symbols[merge.left] + " " + symbols[merge.right]));
    separator = ",";
  }
  out += "\n    ]\n  }\n}\n";
  return out;
}

std::string Tokenizer::config_json(int64_t context_length) const {
  nlohmann::ordered_json config;
  config["tokenizer_class"] = "PreTrainedTokenizerFast";
  config["add_bos_token"] = false;
  config["add_prefix_space"] = false;
  config["clean_up_tokenization_spaces"] = false;
  const std::string end(token_bytes(end_of_text()));
  config["bos_token"] = end;
  config["eos_token"] = end;
  config["unk_token"] = end;
  if (context_length > 0) config["model_max_length"] = context_length;
  return config.dump(2) + "\n";
}

}  // namespace athanor::data
