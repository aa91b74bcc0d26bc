// The two devices' versions of add, sub, their gradients and gradient_accumulate, behind their doors.
#pragma once

#include "kernels/add/add.h"
#include "kernels/broadcast/broadcast.h"

namespace athanor::kernels {

void add_cpu(device::cpu::CpuStream& stream, const Add& args, const RowShape& shape);
void sub_cpu(device::cpu::CpuStream& stream, const Sub& args, const RowShape& shape);
/// sign: 1 for add, -1 for sub.
void add_backward_cpu(device::cpu::CpuStream& stream, const AddBackward& args, const RowShape& shape, float sign);
void gradient_accumulate_cpu(device::cpu::CpuStream& stream, const AddInto& args);

void add_webgpu(device::webgpu::WebGpuStream& stream, const Add& args, const RowShape& shape,
                const device::KernelCost& cost);
void sub_webgpu(device::webgpu::WebGpuStream& stream, const Sub& args, const RowShape& shape,
                const device::KernelCost& cost);
/// kernel: "add_backward" or "sub_backward".
void add_backward_webgpu(device::webgpu::WebGpuStream& stream, const char* kernel, const AddBackward& args,
                         const RowShape& shape, float sign, const device::KernelCost& cost);
void gradient_accumulate_webgpu(device::webgpu::WebGpuStream& stream, const AddInto& args,
                                const device::KernelCost& cost);

}  // namespace athanor::kernels
