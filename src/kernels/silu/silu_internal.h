// The two devices' versions of silu, behind its doors.
#pragma once

#include "kernels/launch.h"
#include "kernels/silu/silu.h"

namespace athanor::kernels {

void silu_cpu(device::cpu::CpuStream& stream, const Silu& args);
void silu_backward_cpu(device::cpu::CpuStream& stream, const SiluBackward& args);
void silu_webgpu(device::webgpu::WebGpuStream& stream, const Silu& args, const device::KernelCost& cost);
void silu_backward_webgpu(device::webgpu::WebGpuStream& stream, const SiluBackward& args,
                          const device::KernelCost& cost);

}  // namespace athanor::kernels
