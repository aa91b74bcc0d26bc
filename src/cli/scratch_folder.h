// A folder for a command that must write what it does not keep.
#pragma once

#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/os_file.h"

namespace athanor::cli {

/// Made in the system's place for temporary files, removed with all it holds. Throws Error when it cannot be made.
class ScratchFolder {
 public:
  explicit ScratchFolder(std::string_view command)
      : path_(std::filesystem::temp_directory_path() / fmt::format("athanor-{}-{}", command, os_file::process_id())) {
    std::error_code error;
    std::filesystem::remove_all(path_, error);  // of an earlier process with our number
    check(std::filesystem::create_directory(path_, error), "{}: cannot be made: {}; name another folder with TMPDIR",
          path_.string(), error ? error.message() : "something is in the way");
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace athanor::cli
