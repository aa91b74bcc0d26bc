// Shared libraries through dlopen.
#ifndef _WIN32
#include <dlfcn.h>

#include "base/error.h"
#include "base/shared_library.h"

namespace athanor {

SharedLibrary::SharedLibrary(const std::filesystem::path& path) : path_(path) {
  handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    const char* text = ::dlerror();
    fail("{}: the library cannot be loaded: {}", path.string(), text != nullptr ? text : "the loader gives no reason");
  }
}

void* SharedLibrary::find(const char* symbol) const { return ::dlsym(handle_, symbol); }

}  // namespace athanor
#endif
