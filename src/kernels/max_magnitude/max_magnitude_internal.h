// The two devices' versions of max_magnitude, behind its door.
#pragma once

#include "kernels/launch.h"
#include "kernels/max_magnitude/max_magnitude.h"

namespace athanor::kernels {

void max_magnitude_cpu(device::cpu::CpuStream& stream, const MaxMagnitude& args);
/// most_bytes: of one binding, the adapter's own or less in tests.
void max_magnitude_webgpu(device::webgpu::WebGpuStream& stream, const MaxMagnitude& args,
                          const device::KernelCost& cost, int64_t most_bytes);

}  // namespace athanor::kernels
