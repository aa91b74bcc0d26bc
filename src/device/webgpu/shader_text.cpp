// A few expressions over the text: the declarations that WGSL itself demands, and the lines of a head as our files write them.
#include "device/webgpu/shader_text.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <regex>

namespace athanor::device::webgpu {

namespace {

using Names = std::map<std::string, std::string>;

uint32_t number_of(const std::string& digits) {
  uint32_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

/// Lines of code without their comments, and the comments' text.
struct Split {
  std::string code;
  std::vector<std::string> comments;  // one a line that has any, without the slashes
};

Split split_comments(std::string_view text) {
  Split split;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    const size_t slashes = line.find("//");
    split.code += line.substr(0, slashes);
    split.code += '\n';
    // Only whole lines belong to a head.
    if (slashes != std::string_view::npos && line.find_first_not_of(" \t") == slashes) {
      split.comments.emplace_back(line.substr(slashes + 2));
    } else {
      split.comments.emplace_back();
    }
    begin = end + 1;
  }
  return split;
}

/// Constants and aliases of the text, by name.
Names definitions(const std::string& code) {
  static const std::regex kDefinition(R"((?:const|alias)\s+(\w+)\s*(?::\s*\w+\s*)?=\s*([^;]+);)");
  Names names;
  for (std::sregex_iterator found(code.begin(), code.end(), kDefinition), end; found != end; ++found) {
    names[(*found)[1]] = (*found)[2];
  }
  return names;
}

/// The type with aliases in place of their names.
std::string resolve(std::string type, const Names& names) {
  static const std::regex kWord(R"([A-Za-z_]\w*)");
  std::string resolved;
  auto last = type.cbegin();
  for (std::sregex_iterator found(type.begin(), type.end(), kWord), end; found != end; ++found) {
    resolved.append(last, (*found)[0].first);
    const auto known = names.find((*found)[0]);
    resolved += known == names.end() ? found->str() : known->second;
    last = (*found)[0].second;
  }
  resolved.append(last, type.cend());
  return resolved;
}

/// The value of a constant of whole numbers: literals, names of such constants, and products of them.
uint32_t value_of(const std::string& words, const Names& names, int depth = 0) {
  static const std::regex kWord(R"(\w+)");
  uint32_t product = 1;
  for (std::sregex_iterator found(words.begin(), words.end(), kWord), end; found != end; ++found) {
    const auto known = names.find(found->str());
    const bool is_name = known != names.end() && depth < 4;
    product *= is_name ? value_of(known->second, names, depth + 1) : number_of(found->str());
  }
  return product;
}

void read_bindings(const std::string& code, const Names& names, ShaderFacts& facts) {
  static const std::regex kBinding(
      R"(@group\(0\)\s*@binding\((\d+)\)\s*var<\s*(storage|uniform)\s*(?:,\s*(read_write|read)\s*)?>\s*(\w+)\s*:\s*([^;]+);)");
  for (std::sregex_iterator found(code.begin(), code.end(), kBinding), end; found != end; ++found) {
    const std::smatch& match = *found;
    const bool is_uniform = match[2] == "uniform";
    facts.bindings.push_back({number_of(match[1]),
                              is_uniform ? "uniform" : (match[3].matched ? match[3].str() : "read"), match[4],
                              resolve(match[5], names), ""});
  }
  std::sort(facts.bindings.begin(), facts.bindings.end(),
            [](const ShaderBinding& a, const ShaderBinding& b) { return a.index < b.index; });
}

/// "  binding 0  read        x      (rows, C) f32"
void read_head(const std::vector<std::string>& comments, ShaderFacts& facts) {
  static const std::regex kBinding(R"(\s*binding (\d+)\s+(?:read_write|read|uniform)\s+(.*))");
  static const std::regex kGrid(R"(\s*Grid: (.*))");
  for (size_t i = 0; i < comments.size(); ++i) {
    std::smatch match;
    if (std::regex_match(comments[i], match, kBinding)) {
      const uint32_t index = number_of(match[1]);
      for (ShaderBinding& binding : facts.bindings) {
        if (binding.index != index || !binding.description.empty()) continue;
        std::string words = match[2];
        // The name stands in front where it is the variable's own.
        if (words.starts_with(binding.name + " ")) words.erase(0, words.find_first_not_of(' ', binding.name.size()));
        binding.description = words;
      }
    } else if (facts.grid.empty() && std::regex_match(comments[i], match, kGrid)) {
      facts.grid = match[1];
      while (i + 1 < comments.size() && !comments[i + 1].empty() && comments[i + 1].starts_with(" ") &&
             !std::regex_match(comments[i + 1], kBinding)) {
        facts.grid += comments[++i];
      }
    }
  }
}

void read_params(const std::string& code, ShaderFacts& facts) {
  if (facts.bindings.empty() || facts.bindings.back().access != "uniform") return;
  const ShaderBinding& uniform = facts.bindings.back();
  const std::regex structure(R"(struct\s+)" + uniform.type + R"(\s*\{([^}]*)\})");
  static const std::regex kField(R"((\w+)\s*:\s*(u32|i32|f32)\s*,?)");
  std::smatch match;
  if (uniform.type.find_first_of("<>(") == std::string::npos && std::regex_search(code, match, structure)) {
    const std::string fields = match[1];
    for (std::sregex_iterator found(fields.begin(), fields.end(), kField), end; found != end; ++found) {
      facts.params.push_back({(*found)[1], (*found)[2]});
    }
    return;
  }
  // vec4<u32> whose head names the words: "vec4<u32> (M, N, K, _)".
  static const std::regex kWords(R"(\((\w+), (\w+), (\w+), (\w+)\))");
  if (uniform.type == "vec4<u32>" && std::regex_search(uniform.description, match, kWords)) {
    for (size_t i = 1; i < match.size(); ++i) facts.params.push_back({match[i], "u32"});
  }
}

}  // namespace

std::string shader_text(const Dispatch& dispatch, bool is_dawn) {
  std::string text;
  if (dispatch.needs_f16) text += "enable f16;\n";
  if (dispatch.needs_subgroups && is_dawn) text += "enable subgroups;\n";
  if (dispatch.needs_subgroup_matrix) text += "enable chromium_experimental_subgroup_matrix;\n";
  text += dispatch.prelude;
  for (const ShaderSource* source : dispatch.sources) {
    if (!text.empty()) text += '\n';
    text += source->text;
  }
  return text;
}

ShaderFacts read_shader(std::string_view text) {
  ShaderFacts facts;
  const Split split = split_comments(text);
  const Names names = definitions(split.code);
  read_bindings(split.code, names, facts);
  read_head(split.comments, facts);
  static const std::regex kWorkgroup(R"(@workgroup_size\(([\w\s*]+)(?:,([\w\s*]+))?(?:,([\w\s*]+))?\))");
  std::smatch match;
  if (std::regex_search(split.code, match, kWorkgroup)) {
    for (size_t i = 1; i <= 3; ++i) facts.workgroup.push_back(match[i].matched ? value_of(match[i], names) : 1);
  }
  read_params(split.code, facts);
  return facts;
}

}  // namespace athanor::device::webgpu
