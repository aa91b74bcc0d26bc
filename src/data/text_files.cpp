// Folders are walked by hand, so that hidden folders are left out whole and one that cannot be read is named.
#include "data/text_files.h"

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "data/byte_reader.h"
#include "data/text_encoding.h"

namespace athanor::data {

namespace {

namespace fs = std::filesystem;

constexpr size_t kProbeBytes = 64 << 10;  // a binary file shows itself within these
constexpr int kDeepestFolder = 256;

std::string first_bytes(const fs::path& path) {
  ByteReader reader(path);
  std::string bytes(kProbeBytes, '\0');
  bytes.resize(reader.read(bytes));
  return bytes;
}

void add_file_of_folder(const fs::path& path, TextFiles& found) {
  const std::string first = first_bytes(path);
  if (is_empty_text(first)) {
    ++found.skipped_empty;
  } else if (looks_binary(first)) {
    ++found.skipped_binary;
  } else {
    found.paths.push_back(path);
  }
}

/// The settings of a run with its checkpoints or its log beside them.
bool holds_run(const std::vector<fs::path>& entries) {
  bool has_settings = false;
  bool has_traces = false;
  for (const fs::path& path : entries) {
    const std::string name = path.filename().string();
    has_settings = has_settings || name == "config.yaml";
    has_traces = has_traces || name == "latest" || name == "metrics.jsonl" || name.starts_with("checkpoint-");
  }
  return has_settings && has_traces;
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
  if (holds_run(entries)) {
    ++found.skipped_runs;
    return;
  }
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
  const int64_t files = skipped_binary + skipped_hidden + skipped_empty;
  std::string out;
  if (files > 0) out = fmt::format("{} file{} skipped:", files, files == 1 ? "" : "s");
  const char* separator = " ";
  for (const auto& [count, kind] :
       {std::pair(skipped_binary, "binary"), {skipped_hidden, "hidden"}, {skipped_empty, "empty"}}) {
    if (count == 0) continue;
    out += fmt::format("{}{} {}", separator, count, kind);
    separator = ", ";
  }
  if (skipped_runs == 0) return out;
  return out + fmt::format("{}{} folder{} skipped: {} a training run", out.empty() ? "" : "; ", skipped_runs,
                           skipped_runs == 1 ? "" : "s", skipped_runs == 1 ? "it holds" : "each holds");
}

int64_t TextFiles::text_bytes() const {
  int64_t bytes = 0;
  std::vector<char> buffer(kProbeBytes);
  for (const fs::path& path : paths) {
    ByteReader reader(path);
    if (!reader.is_packed()) {
      bytes += static_cast<int64_t>(fs::file_size(path));
      continue;
    }
    while (const size_t count = reader.read(buffer)) bytes += static_cast<int64_t>(count);
  }
  return bytes;
}

TextFiles find_text_files(const std::vector<fs::path>& inputs) {
  check(!inputs.empty(), "text: no file or folder is given");
  TextFiles found;
  for (const fs::path& input : inputs) {
    std::error_code error;
    const fs::file_status status = fs::status(input, error);
    const bool is_missing = status.type() == fs::file_type::not_found;
    check(is_missing || !error, "text: {}: {}; check the path", input.string(), error.message());
    check(fs::exists(status), "text: there is no file or folder {}; check the path", input.string());
    const size_t before = found.paths.size();
    if (fs::is_directory(status)) {
      add_folder(input, 0, found);
      found.inputs.push_back({input.string(), found.paths.size() - before});
      continue;
    }
    check(!fs::is_regular_file(status) || fs::file_size(input, error) > 0, "text: {} is empty; leave it out or fill it",
          input.string());
    found.paths.push_back(input);
    found.inputs.push_back({input.string(), 1});
  }
  const std::string skipped = found.skipped_text();
  check(!found.paths.empty(), "text: there is no text file in {}{}{}; pass files or folders of text",
        inputs.front().string(), skipped.empty() ? "" : ": ", skipped);
  return found;
}

}  // namespace athanor::data
