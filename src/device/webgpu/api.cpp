// Fills the table of functions.
#include "device/webgpu/api.h"

#include "base/error.h"

namespace athanor::device::webgpu {

Api load_api(const SharedLibrary& library) {
  Api api;
  api.path = library.path().string();
#define ATHANOR_WEBGPU_FIND(name)                                              \
  api.name = reinterpret_cast<decltype(api.name)>(library.find("wgpu" #name)); \
  check(api.name != nullptr, "{}: this WebGPU library has no function wgpu" #name "; use a newer one", api.path);
  ATHANOR_WEBGPU_FUNCTIONS(ATHANOR_WEBGPU_FIND)
#undef ATHANOR_WEBGPU_FIND
#define ATHANOR_WEBGPU_FIND(name) api.name = reinterpret_cast<decltype(api.name)>(library.find("wgpu" #name));
  ATHANOR_WEBGPU_EXTRA_FUNCTIONS(ATHANOR_WEBGPU_FIND)
#undef ATHANOR_WEBGPU_FIND
  api.is_dawn = library.find("wgpuDeviceTick") != nullptr;
  return api;
}

}  // namespace athanor::device::webgpu
