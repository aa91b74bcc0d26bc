// Reading and writing the JSON of a safetensors header with nlohmann's parser, which checks syntax and UTF-8; doubled
// keys and depth, which it accepts, are checked here while it reads.
#include "base/safetensors_header.h"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"

namespace athanor::safetensors {
namespace {

using nlohmann::json;

constexpr size_t kMaxDepth = 3;  // header { tensor { shape [ ] } }
constexpr size_t kMaxRankInFile =
    64;  // far above any tensor; a list of a hundred million zeros must not fill the memory

/// Refuses doubled keys, deep nesting and long lists as soon as the parser meets them.
class Watch {
 public:
  bool operator()(int /*depth*/, json::parse_event_t event, json& value) {
    switch (event) {
      case json::parse_event_t::object_start:
      case json::parse_event_t::array_start:
        open_.push_back({event == json::parse_event_t::array_start, 0, {}});
        check(open_.size() <= kMaxDepth, "the header is nested deeper than {} levels", kMaxDepth);
        break;
      case json::parse_event_t::object_end:
      case json::parse_event_t::array_end:
        open_.pop_back();
        break;
      case json::parse_event_t::key: {
        const std::string& key = value.get_ref<const std::string&>();
        check(open_.back().keys.insert(key).second, "the header has the key \"{}\" twice", key);
        break;
      }
      case json::parse_event_t::value:
        if (open_.empty() || !open_.back().is_list) break;
        check(++open_.back().values <= kMaxRankInFile, "the header has a list of more than {} values", kMaxRankInFile);
        break;
    }
    return true;
  }

 private:
  struct Level {
    bool is_list;
    size_t values;
    std::set<std::string> keys;
  };
  std::vector<Level> open_;
};

std::map<std::string, std::string> metadata_of(const json& object) {
  check(object.is_object(), "__metadata__ is not an object");
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : object.items()) {
    check(value.is_string(), "__metadata__: the value of \"{}\" is not a text", key);
    metadata.emplace(key, value.get<std::string>());
  }
  return metadata;
}

/// The member of a tensor's object, which must hold exactly dtype, shape and data_offsets.
const json& member(const json& object, const std::string& tensor, const char* key) {
  const auto found = object.find(key);
  check(found != object.end(), "tensor \"{}\" has no {}", tensor, key);
  return *found;
}

HeaderTensor tensor_of(const std::string& name, const json& object) {
  check(object.is_object(), "tensor \"{}\" is not described by an object", name);
  const json& dtype = member(object, name, "dtype");
  const json& shape = member(object, name, "shape");
  const json& offsets = member(object, name, "data_offsets");
  check(object.size() == 3, "tensor \"{}\" has keys other than dtype, shape and data_offsets", name);
  check(dtype.is_string(), "tensor \"{}\": dtype is not a text", name);
  check(shape.is_array(), "tensor \"{}\": shape is not a list", name);
  check(offsets.is_array() && offsets.size() == 2 && offsets[0].is_number_unsigned() && offsets[1].is_number_unsigned(),
        "tensor \"{}\": data_offsets is not two whole numbers from 0 on", name);
  HeaderTensor tensor{name, dtype.get<std::string>(), {}, offsets[0].get<uint64_t>(), offsets[1].get<uint64_t>()};
  for (const json& extent : shape) {
    check(extent.is_number_unsigned() && extent.get<uint64_t>() <= INT64_MAX,
          "tensor \"{}\": shape holds something else than whole numbers from 0 on", name);
    tensor.shape.push_back(extent.get<int64_t>());
  }
  return tensor;
}

}  // namespace

Header parse_header(std::string_view text) {
  json root;
  try {
    root = json::parse(text.begin(), text.end(), Watch());
  } catch (const json::exception& error) {
    fail("the header is not JSON: {}", error.what());
  }
  check(root.is_object(), "the header is not a JSON object");
  Header header;
  for (const auto& [key, value] : root.items()) {
    if (key == "__metadata__") {
      header.metadata = metadata_of(value);
    } else {
      header.tensors.push_back(tensor_of(key, value));
    }
  }
  return header;
}

std::string write_header(const Header& header) {
  json root = json::object();
  if (!header.metadata.empty()) root["__metadata__"] = header.metadata;
  for (const HeaderTensor& tensor : header.tensors) {
    root[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {tensor.begin, tensor.end}}};
  }
  try {
    return root.dump();
  } catch (const json::exception& error) {
    fail("a name or a metadata text is not UTF-8: {}", error.what());
  }
}

}  // namespace athanor::safetensors
