// The two devices' versions of rope_to_cache, behind its door.
#pragma once

#include "kernels/launch.h"
#include "kernels/rope_to_cache/rope_to_cache.h"

namespace athanor::kernels {

void rope_to_cache_cpu(device::cpu::CpuStream& stream, const RopeToCache& args);
void rope_to_cache_webgpu(device::webgpu::WebGpuStream& stream, const RopeToCache& args,
                          const device::KernelCost& cost);

}  // namespace athanor::kernels
