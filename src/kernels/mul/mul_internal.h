// The two devices' versions of mul, behind its doors.
#pragma once

#include "kernels/broadcast/broadcast.h"
#include "kernels/mul/mul.h"

namespace athanor::kernels {

void mul_cpu(device::cpu::CpuStream& stream, const Mul& args, const RowShape& shape);
void mul_backward_cpu(device::cpu::CpuStream& stream, const MulBackward& args, const RowShape& shape);
void mul_webgpu(device::webgpu::WebGpuStream& stream, const Mul& args, const RowShape& shape,
                const device::KernelCost& cost);
void mul_backward_webgpu(device::webgpu::WebGpuStream& stream, const MulBackward& args, const RowShape& shape,
                         const device::KernelCost& cost);

}  // namespace athanor::kernels
