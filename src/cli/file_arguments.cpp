// Plain C streams: binary on every system, and their errors are seen.
#include "cli/file_arguments.h"

#include <array>
#include <cstdio>

#include "base/error.h"
#include "base/mapped_file.h"

namespace athanor::cli {

void check_output_file(const std::filesystem::path& path, bool force, const std::vector<std::string>& inputs) {
  check(!std::filesystem::is_directory(path), "{} is a folder; name a file with -o", path.string());
  check(force || !std::filesystem::exists(path), "{} exists; pass --force to replace it, or name another file with -o",
        path.string());
  for (const std::string& input : inputs) {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::weakly_canonical(path, error).parent_path();
    const bool is_input = std::filesystem::equivalent(path, input, error);
    const bool lies_in_input =
        std::filesystem::exists(path, error) && std::filesystem::is_directory(input, error) &&
        (folder / "").string().starts_with((std::filesystem::weakly_canonical(input, error) / "").string());
    check(!is_input && !lies_in_input, "{} is one of the inputs; name another file with -o", path.string());
  }
  const std::filesystem::path folder = path.parent_path();
  check(folder.empty() || std::filesystem::is_directory(folder), "there is no folder {} for {}; make it first",
        folder.string(), path.filename().string());
}

std::string read_input(const std::string& path) {
  if (path != "-") {
    const MappedFile file(path);
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
  }
  std::string all;
  std::array<char, 65536> buffer;
  for (size_t count; (count = std::fread(buffer.data(), 1, buffer.size(), stdin)) > 0;)
    all.append(buffer.data(), count);
  check(std::ferror(stdin) == 0, "standard input cannot be read");
  return all;
}

std::vector<std::filesystem::path> to_paths(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

}  // namespace athanor::cli
