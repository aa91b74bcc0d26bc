// The two devices' versions of cross_entropy, behind its doors.
#pragma once

#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/launch.h"

namespace athanor::kernels {

void cross_entropy_cpu(device::cpu::CpuStream& stream, const CrossEntropy& args);
void cross_entropy_backward_cpu(device::cpu::CpuStream& stream, const CrossEntropyBackward& args);
void cross_entropy_in_place_cpu(device::cpu::CpuStream& stream, const CrossEntropyFused& args);
void cross_entropy_webgpu(device::webgpu::WebGpuStream& stream, const CrossEntropy& args,
                          const device::KernelCost& cost);
void cross_entropy_backward_webgpu(device::webgpu::WebGpuStream& stream, const CrossEntropyBackward& args,
                                   const device::KernelCost& cost);
void cross_entropy_in_place_webgpu(device::webgpu::WebGpuStream& stream, const CrossEntropyFused& args,
                                   const device::KernelCost& cost);

/// Of rows * vocabulary logits: the loss reads each, the gradient writes each too.
device::KernelCost cross_entropy_cost(int64_t rows, int64_t vocabulary);
device::KernelCost cross_entropy_gradient_cost(int64_t rows, int64_t vocabulary);

}  // namespace athanor::kernels
