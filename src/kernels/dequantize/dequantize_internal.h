// The two devices' versions of dequantize and affine_dequantize, behind their doors.
#pragma once

#include "kernels/dequantize/dequantize.h"
#include "kernels/launch.h"

namespace athanor::kernels {

void dequantize_cpu(device::cpu::CpuStream& stream, const Dequantize& args);
void affine_dequantize_cpu(device::cpu::CpuStream& stream, const AffineDequantize& args);
void dequantize_webgpu(device::webgpu::WebGpuStream& stream, const Dequantize& args, const device::KernelCost& cost);
void affine_dequantize_webgpu(device::webgpu::WebGpuStream& stream, const AffineDequantize& args,
                              const device::KernelCost& cost);

}  // namespace athanor::kernels
