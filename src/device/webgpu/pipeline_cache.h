// Compute pipelines, compiled once for each text, variant and list of bindings, and the layouts they share.
#pragma once

#include "device/webgpu/gpu.h"

#include <map>
#include <unordered_map>

namespace athanor::device::webgpu {

/// The bind group layout of one list of accesses, shared by all kernels with that list.
struct BindingLayout {
  Owned<WGPUBindGroupLayout> group;
  Owned<WGPUPipelineLayout> pipeline;
  uint64_t id = 0;
};

struct Pipeline {
  Owned<WGPUComputePipeline> handle;
  const BindingLayout* layout = nullptr;
};

class PipelineCache {
 public:
  explicit PipelineCache(Gpu& gpu) : gpu_(gpu) {}

  /// Compiles at the first use. Throws Error with the kernel's name and the runtime's text when the shader is refused.
  /// A ShaderSource is known by its address: it lives, unchanged, as long as the device.
  const Pipeline& find(const Dispatch& dispatch);
  void close();

 private:
  void write_key(const Dispatch& dispatch);
  const BindingLayout& layout_for(const Dispatch& dispatch);
  Pipeline compile(const Dispatch& dispatch);
  Owned<WGPUShaderModule> create_module(const Dispatch& dispatch);

  Gpu& gpu_;
  std::map<std::string, BindingLayout, std::less<>> layouts_;
  std::unordered_map<std::string, Pipeline> pipelines_;
  std::string key_;        // of the dispatch at hand; kept for its memory
  std::string signature_;  // of its bindings: "rrw" and "u" for params
};

}  // namespace athanor::device::webgpu
