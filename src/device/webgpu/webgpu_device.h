// The WebGPU device: one adapter with its pool and its stream.
#pragma once

#include "device/webgpu/gpu.h"

namespace athanor::device::webgpu {

/// Throws Error with the runtime's text when the adapter gives no device.
std::unique_ptr<Device> open_webgpu_device(Adapter adapter, const DeviceOptions& options);

}  // namespace athanor::device::webgpu
