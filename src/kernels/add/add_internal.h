// The two devices' versions of add and gradient_accumulate, behind their doors.
#pragma once

#include "kernels/add/add.h"
#include "kernels/launch.h"

namespace athanor::kernels {

void add_cpu(device::cpu::CpuStream& stream, const Add& args);
void gradient_accumulate_cpu(device::cpu::CpuStream& stream, const AddInto& args);
void add_webgpu(device::webgpu::WebGpuStream& stream, const Add& args, const device::KernelCost& cost);
void gradient_accumulate_webgpu(device::webgpu::WebGpuStream& stream, const AddInto& args,
                                const device::KernelCost& cost);

}  // namespace athanor::kernels
