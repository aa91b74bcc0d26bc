// Dawn's extension of the descriptors: toggles, the same on the instance, the adapter request and the device.
#pragma once

#include "device/webgpu/api.h"

#include <vector>

namespace athanor::device::webgpu {

/// Struct and numbers as in Dawn's own webgpu.h (dawn.json, tag "dawn").
struct DawnTogglesDescriptor {
  WGPUChainedStruct chain{nullptr, static_cast<WGPUSType>(0x0005000A)};
  size_t enabled_count = 0;
  const char* const* enabled = nullptr;
  size_t disabled_count = 0;
  const char* const* disabled = nullptr;
};

class DawnToggles {
 public:
  /// checked keeps the bounds checks and the zeroing of workgroup memory, which cost half of a matmul's speed.
  explicit DawnToggles(bool checked) : enabled_{"allow_unsafe_apis", "vulkan_enable_f16_on_nvidia"} {
    if (!checked) enabled_.insert(enabled_.end(), {"disable_robustness", "disable_workgroup_init"});
    descriptor_.enabled_count = enabled_.size();
    descriptor_.enabled = enabled_.data();
    descriptor_.disabled_count = 1;
    descriptor_.disabled = &disabled_;
  }
  DawnToggles(const DawnToggles&) = delete;
  DawnToggles& operator=(const DawnToggles&) = delete;

  /// For a descriptor's nextInChain; other libraries do not know the struct.
  WGPUChainedStruct* chain_for(const Api& api) { return api.is_dawn ? &descriptor_.chain : nullptr; }

 private:
  std::vector<const char*> enabled_;
  const char* disabled_ = "timestamp_quantization";  // rounds times to 100 µs
  DawnTogglesDescriptor descriptor_;
};

}  // namespace athanor::device::webgpu
