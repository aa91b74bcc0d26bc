// The two devices' versions of gradient_scale and clip_grad_by_norm, behind their doors.
#pragma once

#include "kernels/gradient_scale/gradient_scale.h"
#include "kernels/launch.h"

namespace athanor::kernels {

void gradient_scale_cpu(device::cpu::CpuStream& stream, const GradientScale& args);
void clip_grad_by_norm_cpu(device::cpu::CpuStream& stream, const ClipGrad& args);
void gradient_scale_webgpu(device::webgpu::WebGpuStream& stream, const GradientScale& args,
                           const device::KernelCost& cost);
void clip_grad_by_norm_webgpu(device::webgpu::WebGpuStream& stream, const ClipGrad& args,
                              const device::KernelCost& cost);

}  // namespace athanor::kernels
