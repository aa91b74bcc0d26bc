// The two devices' versions of rms_norm, behind its door.
#pragma once

#include "kernels/launch.h"
#include "kernels/rms_norm/rms_norm.h"

namespace athanor::kernels {

void rms_norm_cpu(device::cpu::CpuStream& stream, const RmsNorm& args);
void rms_norm_backward_cpu(device::cpu::CpuStream& stream, const RmsNormBackward& args);
void rms_norm_webgpu(device::webgpu::WebGpuStream& stream, const RmsNorm& args, const device::KernelCost& cost);
void rms_norm_backward_webgpu(device::webgpu::WebGpuStream& stream, const RmsNormBackward& args,
                              const device::KernelCost& cost);

}  // namespace athanor::kernels
