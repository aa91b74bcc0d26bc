// Files and folders written aside: ".<name>.partial-<process id>" beside the final path, so that the rename stays on
// one disk.
#include "base/atomic_file.h"

#include <charconv>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fault.h"
#include "base/os_file.h"

namespace athanor {
namespace {

namespace fs = std::filesystem;

std::string partial_prefix(const fs::path& final_path) {
  return fmt::format(".{}.partial-", final_path.filename().string());
}

fs::path partial_path(const fs::path& final_path) {
  return final_path.parent_path() / (partial_prefix(final_path) + std::to_string(os_file::process_id()));
}

/// Absolute, without a trailing slash, and through symbolic links: a link to a file stays a link to it.
fs::path resolved(const fs::path& path) {
  check(!path.empty(), "write: the path is empty; give the name of a file or folder");
  fs::path whole = fs::absolute(path).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  std::error_code ignored;
  if (fs::exists(whole, ignored)) {
    fs::path real = fs::canonical(whole, ignored);
    if (!ignored) whole = std::move(real);
  }
  return whole;
}

/// The digits of ".NAME.partial-DIGITS" belong to a process that is no more. Our own id can only be that of an earlier process: numbers
/// come again, in containers soon.
bool is_of_dead_process(std::string_view digits) {
  int64_t owner = 0;
  const auto [stop, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), owner);
  if (failed != std::errc() || stop != digits.data() + digits.size() || owner <= 0) return false;
  return owner == os_file::process_id() || !os_file::process_is_alive(owner);
}

/// Removes what processes that were killed have left under names of which `digits_of` gives the digits; empty: not meant.
template <typename DigitsOf>
std::vector<std::string> remove_leftovers_by(const fs::path& folder, DigitsOf digits_of) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (is_of_dead_process(digits_of(std::string_view(name)))) names.push_back(name);
  }
  for (const std::string& name : names) fs::remove_all(folder / name, error);
  return names;
}

void remove_leftovers(const fs::path& final_path) {
  const std::string prefix = partial_prefix(final_path);
  remove_leftovers_by(final_path.parent_path(), [&](std::string_view name) {
    return name.starts_with(prefix) ? name.substr(prefix.size()) : std::string_view();
  });
}

void check_may_write(const fs::path& path) {
  check(!fault_due("no-write"),
        "{}: cannot be written: Permission denied; choose a folder that exists and is yours to write", path.string());
}

}  // namespace

std::vector<std::string> remove_unfinished(const fs::path& folder) {
  constexpr std::string_view kMark = ".partial-";
  return remove_leftovers_by(folder, [&](std::string_view name) {
    const size_t mark = name.rfind(kMark);
    return name.starts_with('.') && mark != std::string_view::npos && mark > 0 ? name.substr(mark + kMark.size())
                                                                               : std::string_view();
  });
}

struct AtomicFile::State {
  fs::path final_path;
  fs::path partial;
  os_file::Handle file = os_file::kNone;

  ~State() {
    if (file != os_file::kNone) {
      os_file::close(file);
      std::error_code ignored;
      fs::remove(partial, ignored);
    }
  }
};

AtomicFile::AtomicFile(const fs::path& path) {
  auto state = std::make_unique<State>();
  state->final_path = resolved(path);
  check_may_write(state->final_path);
  std::error_code error;
  const fs::file_status status = fs::status(state->final_path, error);
  // A rename onto a folder fails late, and one onto a device such as /dev/null would replace the device.
  check(!fs::is_directory(status), "{}: is a folder; give the name of a file", path.string());
  check(!fs::exists(status) || fs::is_regular_file(status), "{}: is not a regular file; give another name",
        path.string());
  const fs::path folder = state->final_path.parent_path();
  check(fs::is_directory(folder, error), "{}: cannot be written: the folder {} does not exist; make it first",
        path.string(), folder.string());
  remove_leftovers(state->final_path);
  state->partial = partial_path(state->final_path);
  state->file = os_file::create(state->partial);
  state_ = std::move(state);
}

AtomicFile::AtomicFile(AtomicFile&&) noexcept = default;
AtomicFile& AtomicFile::operator=(AtomicFile&&) noexcept = default;
AtomicFile::~AtomicFile() = default;

void AtomicFile::write(std::span<const std::byte> bytes) {
  check(state_ != nullptr && state_->file != os_file::kNone, "write: the file was committed already; open another one");
  check(!fault_due("disk-full"), "{}: writing failed: No space left on device; free some space or choose another disk",
        state_->final_path.string());
  os_file::write_all(state_->file, bytes, state_->final_path);
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::overwrite(uint64_t offset, std::span<const std::byte> bytes) {
  check(state_ != nullptr && state_->file != os_file::kNone, "write: the file was committed already; open another one");
  check(!fault_due("disk-full"), "{}: writing failed: No space left on device; free some space or choose another disk",
        state_->final_path.string());
  os_file::write_at(state_->file, offset, bytes, state_->final_path);
}

void AtomicFile::read_back(uint64_t offset, std::span<std::byte> bytes) const {
  check(state_ != nullptr && state_->file != os_file::kNone, "read: the file was committed already; open it to read");
  os_file::read_at(state_->file, offset, bytes, state_->final_path);
}

void AtomicFile::commit() {
  check(state_ != nullptr && state_->file != os_file::kNone, "commit: the file was committed already");
  os_file::flush(state_->file, state_->final_path);
#ifdef _WIN32
  // Windows renames only what is closed.
  os_file::close(std::exchange(state_->file, os_file::kNone));
  try {
    os_file::rename_file(state_->partial, state_->final_path);
  } catch (const Error&) {
    std::error_code ignored;
    fs::remove(state_->partial, ignored);
    throw;
  }
#else
  os_file::rename_file(state_->partial, state_->final_path);
  os_file::close(std::exchange(state_->file, os_file::kNone));
#endif
  os_file::flush_folder(state_->final_path.parent_path());
}

void write_file(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

AtomicFolder::AtomicFolder(const fs::path& final_path) : final_(resolved(final_path)) {
  check_may_write(final_);
  std::error_code error;
  check(!fs::exists(final_, error) || fs::is_directory(final_, error), "{}: is not a folder; give another name",
        final_path.string());
  const fs::path parent = final_.parent_path();
  check(fs::is_directory(parent, error), "{}: cannot be written: the folder {} does not exist; make it first",
        final_path.string(), parent.string());
  remove_leftovers(final_);
  const fs::path staging = partial_path(final_);
  check(fs::create_directory(staging, error) && !error,
        "{}: cannot be written: {}; choose a folder that exists and is yours to write", final_path.string(),
        error ? error.message() : "the folder is there already");
  staging_ = staging;
}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  if (!committed_ && !staging_.empty()) fs::remove_all(staging_, ignored);
}

namespace {

/// Flushes each file, then each folder after what it holds.
void flush_tree(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_symlink()) continue;
    if (entry.is_directory()) {
      flush_tree(entry.path());
    } else if (entry.is_regular_file()) {
      os_file::flush_file(entry.path());
    }
  }
  os_file::flush_folder(folder);
}

/// Where the system cannot swap: the old folder steps aside and comes back if the new one cannot take its place.
void swap_by_two_renames(const fs::path& staging, const fs::path& final_path) {
  const fs::path aside = staging.string() + "-old";
  fs::rename(final_path, aside);
  std::error_code error;
  fs::rename(staging, final_path, error);
  if (error) {
    std::error_code ignored;
    fs::rename(aside, final_path, ignored);
    throw fs::filesystem_error("rename", staging, final_path, error);
  }
  fs::rename(aside, staging);
}

}  // namespace

void AtomicFolder::commit() {
  check(!committed_, "{}: the folder was committed already", final_.string());
  try {
    flush_tree(staging_);
    if (!fs::exists(final_)) {
      fs::rename(staging_, final_);
    } else if (fault_due("no-exchange") || !os_file::exchange(staging_, final_)) {
      swap_by_two_renames(staging_, final_);
    }
    committed_ = true;
    os_file::flush_folder(final_.parent_path());
    // What lies under the staging name is now the old folder, if there was one; if it resists, the new one is in place
    // all the same.
    std::error_code ignored;
    fs::remove_all(staging_, ignored);
  } catch (const fs::filesystem_error& error) {
    fail("{}: putting the folder in place failed: {}", final_.string(), error.code().message());
  }
}

}  // namespace athanor
