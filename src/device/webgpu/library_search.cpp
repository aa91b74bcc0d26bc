// Dawn first, since its compiler makes faster code and knows more extensions.
#include "device/webgpu/library_search.h"

#include "base/host.h"

#include <cstdlib>
#include <string>

namespace athanor::device::webgpu {

namespace {

std::string file_name(const std::string& name) {
#if defined(_WIN32)
  return name + ".dll";
#elif defined(__APPLE__)
  return "lib" + name + ".dylib";
#else
  return "lib" + name + ".so";
#endif
}

}  // namespace

std::vector<std::filesystem::path> library_candidates() {
  if (const char* named = std::getenv("ATHANOR_WEBGPU_LIBRARY"); named != nullptr && *named != '\0') return {named};
  std::vector<std::filesystem::path> folders = {executable_folder() / ".." / "lib" / "athanor"};
#ifdef ATHANOR_DEPS
  folders.push_back(std::filesystem::path(ATHANOR_DEPS) / "webgpu" / "lib");
#endif
  std::vector<std::filesystem::path> candidates;
  for (const char* name : {"webgpu_dawn", "wgpu_native"}) {
    const std::string file = file_name(name);
    for (const std::filesystem::path& folder : folders) {
      std::error_code unreadable;
      if (std::filesystem::exists(folder / file, unreadable)) {
        candidates.push_back((folder / file).lexically_normal());
        break;  // one copy of each is enough
      }
    }
    if (candidates.empty() || candidates.back().filename() != file) candidates.emplace_back(file);
  }
  return candidates;
}

}  // namespace athanor::device::webgpu
