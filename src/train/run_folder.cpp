// Names and small files of a run folder.
#include "train/run_folder.h"

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mapped_file.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace athanor::train {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "checkpoint-";

std::optional<int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size() || step < 0) return std::nullopt;
  return step;
}

std::string read_text(const fs::path& path) {
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

}  // namespace

fs::path RunFolder::kernel(std::string name) const {
  std::replace(name.begin(), name.end(), '/', '.');
  return path_ / "kernels" / (name + ".wgsl");
}

fs::path RunFolder::checkpoint(int64_t step) const { return path_ / fmt::format("{}{}", kPrefix, step); }

bool RunFolder::holds_run() const { return fs::exists(config()) || fs::exists(metrics()) || !checkpoints().empty(); }

void RunFolder::create() const {
  std::error_code error;
  if (!fault_due("no-write")) {
    fs::create_directories(path_, error);
  } else {
    error = std::make_error_code(std::errc::permission_denied);
  }
  check(!error && fs::is_directory(path_), "{}: the run folder cannot be made: {}; choose another with -o",
        path_.string(), error ? error.message() : "a file is in the way");
}

std::vector<CheckpointEntry> RunFolder::checkpoints() const {
  std::vector<CheckpointEntry> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_, error)) {
    const std::optional<int64_t> step = step_of(entry.path().filename().string());
    if (step && entry.is_directory()) found.push_back({*step, entry.path()});
  }
  std::sort(found.begin(), found.end(),
            [](const CheckpointEntry& a, const CheckpointEntry& b) { return a.step < b.step; });
  return found;
}

std::optional<CheckpointEntry> RunFolder::latest() const {
  const fs::path file = path_ / "latest";
  const std::vector<CheckpointEntry> all = checkpoints();
  if (all.empty()) return std::nullopt;
  std::string name;
  if (fs::is_regular_file(file) && fs::file_size(file) > 0) name = read_text(file).substr(0, 80);
  while (!name.empty() && (name.back() == '\n' || name.back() == '\r')) name.pop_back();
  // Compared with what is there, so that it leads nowhere else.
  for (const CheckpointEntry& entry : all) {
    if (entry.path.filename().string() == name) return entry;
  }
  log_warning(
      "{}: {}; the newest checkpoint is {}", file.string(),
      name.empty() ? "is missing or empty" : fmt::format("names \"{}\", which is no checkpoint of this run", name),
      all.back().path.string());
  return all.back();
}

void RunFolder::set_latest(int64_t step) const { write_file(path_ / "latest", fmt::format("{}{}\n", kPrefix, step)); }

JsonLines::JsonLines(const fs::path& path, int64_t last_step) : path_(path) {
  if (fs::exists(path)) {
    const std::string text = read_text(path);
    std::string kept;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      const std::string line = text.substr(begin, end - begin);
      begin = end + 1;
      const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
      const bool is_kept = !object.is_discarded() && object.is_object() && object.contains("step") &&
                           object["step"].is_number_integer() && object["step"].get<int64_t>() <= last_step;
      if (is_kept) kept += line + "\n";
    }
    if (kept != text) write_file(path, kept);
  }
  const bool is_refused = fault_due("no-write");
  if (!is_refused) file_ = std::fopen(path.c_str(), "ab");
  check(file_ != nullptr, "{}: cannot be written: {}; make the folder writable and go on with --resume", path.string(),
        std::strerror(is_refused ? EACCES : errno));
}

JsonLines::~JsonLines() {
  if (file_ != nullptr) std::fclose(file_);
}

void JsonLines::append(const std::string& line) {
  const std::string text = line + "\n";
  const bool is_full = fault_due("disk-full");
  if (is_full) errno = ENOSPC;
  const bool written =
      !is_full && std::fwrite(text.data(), 1, text.size(), file_) == text.size() && std::fflush(file_) == 0;
  check(written, "{}: cannot be written: {}; free some space and go on with --resume", path_.string(),
        std::strerror(errno));
}

}  // namespace athanor::train
