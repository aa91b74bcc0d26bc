// Folders are walked by hand, so that hidden folders are left out whole and one that cannot be read is named.
#include "data/text_files.h"

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "base/mapped_file.h"
#include "data/text_encoding.h"

namespace athanor::data {

namespace {

namespace fs = std::filesystem;

constexpr size_t kProbeBytes = 64 << 10;  // a binary file shows itself within these
constexpr int kDeepestFolder = 256;

std::string_view view_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

void add_file_of_folder(const fs::path& path, TextFiles& found) {
  const MappedFile file(path);
  if (file.bytes().empty()) {
    ++found.skipped_empty;
  } else if (looks_binary(view_of(file).substr(0, kProbeBytes))) {
    ++found.skipped_binary;
  } else {
    found.paths.push_back(path);
  }
}

void add_folder(const fs::path& folder, int depth, TextFiles& found) {
  check(depth < kDeepestFolder, "text: {} is nested deeper than {} folders", folder.string(), kDeepestFolder);
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    entries.push_back(entry->path());
  }
  check(!error, "text: the folder {} cannot be read: {}", folder.string(), error.message());
  std::sort(entries.begin(), entries.end(),
            [](const fs::path& a, const fs::path& b) { return a.native() < b.native(); });
  for (const fs::path& path : entries) {
    if (path.filename().string().starts_with('.')) {
      ++found.skipped_hidden;
    } else if (fs::is_directory(path, error)) {
      if (!fs::is_symlink(path, error)) add_folder(path, depth + 1, found);
    } else if (fs::is_regular_file(path, error)) {
      add_file_of_folder(path, found);
    }
  }
}

}  // namespace

std::string TextFiles::skipped_text() const {
  const int64_t all = skipped_binary + skipped_hidden + skipped_empty;
  if (all == 0) return "";
  std::string out = fmt::format("{} file{} skipped:", all, all == 1 ? "" : "s");
  const char* separator = " ";
  for (const auto& [count, kind] :
       {std::pair(skipped_binary, "binary"), {skipped_hidden, "hidden"}, {skipped_empty, "empty"}}) {
    if (count == 0) continue;
    out += fmt::format("{}{} {}", separator, count, kind);
    separator = ", ";
  }
  return out;
}

TextFiles find_text_files(const std::vector<fs::path>& inputs) {
  check(!inputs.empty(), "text: no file or folder is given");
  TextFiles found;
  for (const fs::path& input : inputs) {
    std::error_code error;
    const fs::file_status status = fs::status(input, error);
    check(fs::exists(status), "text: there is no file or folder {}; check the path", input.string());
    if (fs::is_directory(status)) {
      add_folder(input, 0, found);
      continue;
    }
    check(!fs::is_regular_file(status) || fs::file_size(input, error) > 0, "text: {} is empty; leave it out or fill it",
          input.string());
    found.paths.push_back(input);
  }
  const std::string skipped = found.skipped_text();
  check(!found.paths.empty(), "text: there is no text file in {}{}{}; pass files or folders of text",
        inputs.front().string(), skipped.empty() ? "" : ": ", skipped);
  return found;
}

std::string read_text(const fs::path& path, const std::string& encoding) {
  const MappedFile file(path);
  std::string text = to_utf8(std::string(view_of(file)), encoding, path.string());
  check(!text.empty(), "text: {} is empty; leave it out or fill it", path.string());
  return text;
}

DocumentSource document_source(const TextFiles& files, const std::string& encoding) {
  return [&files, encoding, next = size_t{0}]() mutable -> std::optional<std::string> {
    if (next == files.paths.size()) return std::nullopt;
    return read_text(files.paths[next++], encoding);
  };
}

}  // namespace athanor::data
