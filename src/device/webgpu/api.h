// The functions of webgpu.h, found in a shared library at run time. A macro makes the list, so that a name is written once.
#pragma once

#include "base/shared_library.h"

#include <webgpu/webgpu.h>
#include <webgpu/wgpu.h>

#include <string>
#include <string_view>

// What both implementations have and were tried in. In wgpu-native these end the process and so are not here: WaitAny,
// BufferGetMapState, CreateComputePipelineAsync, ShaderModuleGetCompilationInfo, DeviceGetLostFuture, GetInstanceFeatures.
// clang-format off
#define ATHANOR_WEBGPU_FUNCTIONS(FUNCTION) \
  FUNCTION(CreateInstance) \
  FUNCTION(InstanceRequestAdapter) \
  FUNCTION(InstanceProcessEvents) \
  FUNCTION(InstanceRelease) \
  FUNCTION(AdapterGetInfo) \
  FUNCTION(AdapterInfoFreeMembers) \
  FUNCTION(AdapterGetLimits) \
  FUNCTION(AdapterHasFeature) \
  FUNCTION(AdapterRequestDevice) \
  FUNCTION(AdapterRelease) \
  FUNCTION(DeviceGetQueue) \
  FUNCTION(DeviceGetLimits) \
  FUNCTION(DeviceDestroy) \
  FUNCTION(DeviceRelease) \
  FUNCTION(DevicePushErrorScope) \
  FUNCTION(DevicePopErrorScope) \
  FUNCTION(DeviceCreateBuffer) \
  FUNCTION(DeviceCreateShaderModule) \
  FUNCTION(DeviceCreateBindGroupLayout) \
  FUNCTION(DeviceCreatePipelineLayout) \
  FUNCTION(DeviceCreateComputePipeline) \
  FUNCTION(DeviceCreateBindGroup) \
  FUNCTION(DeviceCreateCommandEncoder) \
  FUNCTION(DeviceCreateQuerySet) \
  FUNCTION(QueueSubmit) \
  FUNCTION(QueueWriteBuffer) \
  FUNCTION(QueueOnSubmittedWorkDone) \
  FUNCTION(QueueRelease) \
  FUNCTION(BufferMapAsync) \
  FUNCTION(BufferGetConstMappedRange) \
  FUNCTION(BufferUnmap) \
  FUNCTION(BufferDestroy) \
  FUNCTION(BufferRelease) \
  FUNCTION(CommandEncoderBeginComputePass) \
  FUNCTION(CommandEncoderCopyBufferToBuffer) \
  FUNCTION(CommandEncoderClearBuffer) \
  FUNCTION(CommandEncoderResolveQuerySet) \
  FUNCTION(CommandEncoderFinish) \
  FUNCTION(CommandEncoderRelease) \
  FUNCTION(ComputePassEncoderSetPipeline) \
  FUNCTION(ComputePassEncoderSetBindGroup) \
  FUNCTION(ComputePassEncoderDispatchWorkgroups) \
  FUNCTION(ComputePassEncoderEnd) \
  FUNCTION(ComputePassEncoderRelease) \
  FUNCTION(ShaderModuleRelease) \
  FUNCTION(BindGroupLayoutRelease) \
  FUNCTION(PipelineLayoutRelease) \
  FUNCTION(ComputePipelineRelease) \
  FUNCTION(BindGroupRelease) \
  FUNCTION(CommandBufferRelease) \
  FUNCTION(QuerySetRelease)
// clang-format on

// What only one of them has; nullptr elsewhere.
#define ATHANOR_WEBGPU_EXTRA_FUNCTIONS(FUNCTION) \
  FUNCTION(DevicePoll)                           \
  FUNCTION(DeviceCreateShaderModuleTrusted) FUNCTION(InstanceEnumerateAdapters) FUNCTION(QueueGetTimestampPeriod)

namespace athanor::device::webgpu {

struct Api {
#define ATHANOR_WEBGPU_MEMBER(name) decltype(&::wgpu##name) name = nullptr;
  ATHANOR_WEBGPU_FUNCTIONS(ATHANOR_WEBGPU_MEMBER)
  ATHANOR_WEBGPU_EXTRA_FUNCTIONS(ATHANOR_WEBGPU_MEMBER)
#undef ATHANOR_WEBGPU_MEMBER
  bool is_dawn = false;  // toggles are understood and "enable subgroups;" is wanted
  std::string path;      // of the library
};

/// Throws Error naming the first function that is missing.
Api load_api(const SharedLibrary& library);

inline WGPUStringView view(std::string_view text) { return {text.data(), text.size()}; }
inline std::string to_string(WGPUStringView text) {
  if (text.data == nullptr) return {};
  return text.length == WGPU_STRLEN ? std::string(text.data) : std::string(text.data, text.length);
}

}  // namespace athanor::device::webgpu
