// The two devices' versions of sum, gradient_norm_squared and finalize_grad_stats, behind their doors.
#pragma once

#include "kernels/gradient_norm/gradient_norm.h"
#include "kernels/launch.h"

namespace athanor::kernels {

void sum_cpu(device::cpu::CpuStream& stream, const Sum& args);
void gradient_norm_squared_cpu(device::cpu::CpuStream& stream, const GradientNorm& args);
void finalize_grad_stats_cpu(device::cpu::CpuStream& stream, const GradStats& args);
void sum_webgpu(device::webgpu::WebGpuStream& stream, const Sum& args, const device::KernelCost& cost);
void gradient_norm_squared_webgpu(device::webgpu::WebGpuStream& stream, const GradientNorm& args,
                                  const device::KernelCost& cost);
void finalize_grad_stats_webgpu(device::webgpu::WebGpuStream& stream, const GradStats& args,
                                const device::KernelCost& cost);

}  // namespace athanor::kernels
