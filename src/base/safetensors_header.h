// The JSON header of a safetensors file, checked as JSON; safetensors.cpp checks it against the file. Used by that file
// alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::safetensors {

struct HeaderTensor {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // offsets into the data, in bytes
  uint64_t end = 0;
};

struct Header {
  std::vector<HeaderTensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Throws Error, without the file's path, when the text is not a header.
Header parse_header(std::string_view text);

/// The header's JSON without padding. Throws Error when a name or a metadata text is not UTF-8.
std::string write_header(const Header& header);

}  // namespace athanor::safetensors
