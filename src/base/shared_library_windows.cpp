// Shared libraries through LoadLibrary.
#ifdef _WIN32
#include "base/error.h"
#include "base/shared_library.h"
#include "base/windows_api.h"

namespace athanor {

SharedLibrary::SharedLibrary(const std::filesystem::path& path) : path_(path) {
  // A full path also finds the libraries that lie beside this one.
  const DWORD flags = path.is_absolute() ? LOAD_WITH_ALTERED_SEARCH_PATH : 0;
  handle_ = reinterpret_cast<void*>(LoadLibraryExW(path.c_str(), nullptr, flags));
  check(handle_ != nullptr, "{}: the library cannot be loaded: {}", path.string(), windows_reason());
}

void* SharedLibrary::find(const char* symbol) const {
  return reinterpret_cast<void*>(GetProcAddress(reinterpret_cast<HMODULE>(handle_), symbol));
}

}  // namespace athanor
#endif
