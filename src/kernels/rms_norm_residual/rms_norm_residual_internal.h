// The two devices' versions of rms_norm_residual, behind its doors.
#pragma once

#include "kernels/launch.h"
#include "kernels/rms_norm_residual/rms_norm_residual.h"

namespace athanor::kernels {

void rms_norm_residual_cpu(device::cpu::CpuStream& stream, const RmsNormResidual& args);
void rms_norm_residual_backward_cpu(device::cpu::CpuStream& stream, const RmsNormResidualBackward& args);
void rms_norm_residual_webgpu(device::webgpu::WebGpuStream& stream, const RmsNormResidual& args,
                              const device::KernelCost& cost);
void rms_norm_residual_backward_webgpu(device::webgpu::WebGpuStream& stream, const RmsNormResidualBackward& args,
                                       const device::KernelCost& cost);

}  // namespace athanor::kernels
