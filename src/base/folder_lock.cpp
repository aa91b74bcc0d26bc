// The lock is the system's, on the folder itself where it can be (a file .lock elsewhere, gone with its handle): it goes with the process,
// so a killed run leaves none behind.
#include "base/folder_lock.h"

#include <cerrno>

#include "base/error.h"

#ifdef _WIN32
#include "base/windows_api.h"
#else
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#endif

namespace athanor {

#ifdef _WIN32

FolderLock::FolderLock(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / ".lock";
  handle_ = CreateFileW(path.c_str(), GENERIC_WRITE, 0, nullptr, OPEN_ALWAYS, FILE_FLAG_DELETE_ON_CLOSE, nullptr);
  check(handle_ != INVALID_HANDLE_VALUE, "{}: another process is writing here; wait for it, or choose another folder",
        folder.string());
}

FolderLock::~FolderLock() { CloseHandle(handle_); }

#else

FolderLock::FolderLock(const std::filesystem::path& folder) {
  file_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // A folder that cannot be opened says so at the first real file; a file system without locks is not refused.
  if (file_ < 0) return;
  if (::flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(file_);
  fail("{}: another process is training here; wait for it, or choose another folder", folder.string());
}

FolderLock::~FolderLock() {
  if (file_ >= 0) ::close(file_);
}

#endif

}  // namespace athanor
