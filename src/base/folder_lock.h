// A folder that one process at a time may write into: two that train in one run folder would spoil it for each other.
#pragma once

#include <filesystem>

namespace athanor {

class FolderLock {
 public:
  /// Holds the folder until destruction or the end of the process, however it ends. Throws Error when another process holds it.
  explicit FolderLock(const std::filesystem::path& folder);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

 private:
#ifdef _WIN32
  void* handle_ = nullptr;
#else
  int file_ = -1;
#endif
};

}  // namespace athanor
