// The two devices' versions of softmax, behind its doors.
#pragma once

#include "kernels/launch.h"
#include "kernels/softmax/softmax.h"

namespace athanor::kernels {

void softmax_cpu(device::cpu::CpuStream& stream, const Softmax& args);
void softmax_backward_cpu(device::cpu::CpuStream& stream, const SoftmaxBackward& args);
void softmax_webgpu(device::webgpu::WebGpuStream& stream, const Softmax& args, const device::KernelCost& cost);
void softmax_backward_webgpu(device::webgpu::WebGpuStream& stream, const SoftmaxBackward& args,
                             const device::KernelCost& cost);

}  // namespace athanor::kernels
