// The two devices' versions of gelu_gate, behind its doors.
#pragma once

#include "kernels/gelu_gate/gelu_gate.h"
#include "kernels/launch.h"

namespace athanor::kernels {

void gelu_gate_cpu(device::cpu::CpuStream& stream, const GeluGate& args);
void gelu_gate_backward_cpu(device::cpu::CpuStream& stream, const GeluGateBackward& args);
void gelu_gate_webgpu(device::webgpu::WebGpuStream& stream, const GeluGate& args, const device::KernelCost& cost);
void gelu_gate_backward_webgpu(device::webgpu::WebGpuStream& stream, const GeluGateBackward& args,
                               const device::KernelCost& cost);

}  // namespace athanor::kernels
