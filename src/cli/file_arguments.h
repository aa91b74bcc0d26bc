// What several commands do with the files named on their command line.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::cli {

/// Throws Error when the output exists and --force was not given, or when its folder is missing, before any work is done.
void check_output_file(const std::filesystem::path& path, bool force, const std::vector<std::string>& inputs);

/// All bytes of a file, of standard input for "-". Throws Error when it cannot be read.
std::string read_input(const std::string& path);

/// Command lines hold text; the library takes paths.
std::vector<std::filesystem::path> to_paths(const std::vector<std::string>& names);

}  // namespace athanor::cli
