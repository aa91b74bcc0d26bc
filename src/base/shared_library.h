// A shared library opened at run time; stays open for the life of the process, since drivers do not survive being
// unloaded.
#pragma once

#include <filesystem>
#include <string>

namespace athanor {

class SharedLibrary {
 public:
  /// Throws Error with the loader's own text.
  explicit SharedLibrary(const std::filesystem::path& path);

  /// nullptr when the symbol is not there.
  void* find(const char* symbol) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  void* handle_ = nullptr;
};

}  // namespace athanor
