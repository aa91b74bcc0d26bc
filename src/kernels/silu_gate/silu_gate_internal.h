// The two devices' versions of silu_gate, behind its doors.
#pragma once

#include "kernels/launch.h"
#include "kernels/silu_gate/silu_gate.h"

namespace athanor::kernels {

void silu_gate_cpu(device::cpu::CpuStream& stream, const SiluGate& args);
void silu_gate_backward_cpu(device::cpu::CpuStream& stream, const SiluGateBackward& args);
void silu_gate_webgpu(device::webgpu::WebGpuStream& stream, const SiluGate& args, const device::KernelCost& cost);
void silu_gate_backward_webgpu(device::webgpu::WebGpuStream& stream, const SiluGateBackward& args,
                               const device::KernelCost& cost);

}  // namespace athanor::kernels
