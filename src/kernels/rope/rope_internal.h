// The two devices' versions of rope, behind its door. sign is 1 for the forward, -1 for the gradient.
#pragma once

#include "kernels/launch.h"
#include "kernels/rope/rope.h"

namespace athanor::kernels {

void rope_cpu(device::cpu::CpuStream& stream, const Rope& args, float sign);
void rope_webgpu(device::webgpu::WebGpuStream& stream, std::string_view kernel, const Rope& args, float sign,
                 const device::KernelCost& cost);

}  // namespace athanor::kernels
