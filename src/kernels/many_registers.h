// Which adapters have registers for forms of a kernel that keep 128 sums and more in each thread.
#pragma once

#include "device/webgpu/webgpu_stream.h"

namespace athanor::kernels {

/// Whether such forms do better on this adapter, as far as known. NVIDIA's processors have 65,536 registers each, enough for 400 threads of
/// 160 of them. Others are not measured.
inline bool has_many_registers(device::webgpu::WebGpuStream& stream) {
  return stream.device().info().name.find("NVIDIA") != std::string::npos;
}

}  // namespace athanor::kernels
