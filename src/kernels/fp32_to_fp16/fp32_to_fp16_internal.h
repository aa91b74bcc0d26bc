// The two devices' versions of fp32_to_fp16 and fp16_to_fp32, behind their doors.
#pragma once

#include "kernels/fp32_to_fp16/fp32_to_fp16.h"
#include "kernels/launch.h"

namespace athanor::kernels {

void fp32_to_fp16_cpu(device::cpu::CpuStream& stream, const Fp32ToFp16& args);
void fp16_to_fp32_cpu(device::cpu::CpuStream& stream, const Fp16ToFp32& args);
void fp32_to_fp16_webgpu(device::webgpu::WebGpuStream& stream, const Fp32ToFp16& args, const device::KernelCost& cost);
void fp16_to_fp32_webgpu(device::webgpu::WebGpuStream& stream, const Fp16ToFp32& args, const device::KernelCost& cost);

}  // namespace athanor::kernels
