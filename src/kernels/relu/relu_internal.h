// The two devices' versions of relu, behind its doors.
#pragma once

#include "kernels/launch.h"
#include "kernels/relu/relu.h"

namespace athanor::kernels {

void relu_cpu(device::cpu::CpuStream& stream, const Relu& args);
void relu_backward_cpu(device::cpu::CpuStream& stream, const ReluBackward& args);
void relu_webgpu(device::webgpu::WebGpuStream& stream, const Relu& args, const device::KernelCost& cost);
void relu_backward_webgpu(device::webgpu::WebGpuStream& stream, const ReluBackward& args,
                          const device::KernelCost& cost);

}  // namespace athanor::kernels
