// The two devices' versions of conv1d, behind its doors.
#pragma once

#include "kernels/conv1d/conv1d.h"
#include "kernels/launch.h"

namespace athanor::kernels {

void conv1d_cpu(device::cpu::CpuStream& stream, const Conv1d& args);
void conv1d_backward_cpu(device::cpu::CpuStream& stream, const Conv1dBackward& args);
void conv1d_webgpu(device::webgpu::WebGpuStream& stream, const Conv1d& args, const device::KernelCost& cost);
void conv1d_backward_webgpu(device::webgpu::WebGpuStream& stream, const Conv1dBackward& args,
                            const device::KernelCost& cost);

}  // namespace athanor::kernels
